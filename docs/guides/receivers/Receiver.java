// A receiver of Daybook's webhooks that uses only the classes of Java 17.
//
//     DAYBOOK_HMAC_KEY=... PORT=8000 java Receiver.java
//
// DAYBOOK_HMAC_KEY is the key that GET /organization/hmac_key returns; during a rotation, both keys, separated by a
// space. PORT 0 picks a free port. Prints one line for each message.

import com.sun.net.httpserver.Headers;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.util.Base64;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

public class Receiver {
    static final String[] KEYS = System.getenv("DAYBOOK_HMAC_KEY").trim().split("\\s+");
    static final int MOST_BYTES = 8 * 1024 * 1024;
    static final long TOLERANCE_S = 5 * 60;
    // In production, use a table with a unique column.
    static final Set<String> SEEN = ConcurrentHashMap.newKeySet();

    static byte[] signature(byte[] key, byte[]... parts) throws GeneralSecurityException {
        Mac mac = Mac.getInstance("HmacSHA256");
        mac.init(new SecretKeySpec(key, "HmacSHA256"));
        for (byte[] part : parts) mac.update(part);
        return Base64.getEncoder().encode(mac.doFinal());
    }

    static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    /** The part of a text between two others, or null. */
    static String between(String text, int from, int to) {
        return from < 0 || to < from ? null : text.substring(from, to);
    }

    static boolean bodyIsOurs(String body) throws GeneralSecurityException {
        // The bytes of `data`, exactly as in the body.
        String before = ",\"data\":", after = ",\"hmac_signature\":\"";
        int from = body.indexOf(before) + before.length(), to = body.lastIndexOf(after);
        String data = between(body, from, to);
        String given = between(body, to + after.length(), body.length() - 2);
        if (data == null || given == null) return false;
        for (String key : KEYS) {
            // The key is the text itself. isEqual compares in constant time.
            if (MessageDigest.isEqual(signature(bytes(key), latin1(data)), bytes(given))) return true;
        }
        return false;
    }

    static boolean headerIsOurs(Headers headers, byte[] body) throws GeneralSecurityException {
        String id = headers.getFirst("webhook-id"), sentAt = headers.getFirst("webhook-timestamp");
        String signatures = headers.getFirst("webhook-signature");
        if (id == null || signatures == null || sentAt == null || !sentAt.matches("\\d{1,12}")) return false;
        if (Math.abs(System.currentTimeMillis() / 1000 - Long.parseLong(sentAt)) > TOLERANCE_S) return false;
        for (String key : KEYS) {
            // The key is the bytes that the text decodes to.
            byte[] ours = signature(Base64.getDecoder().decode(key), bytes(id + "." + sentAt + "."), body);
            for (String theirs : signatures.split(" ")) {
                if (theirs.startsWith("v1,") && MessageDigest.isEqual(ours, bytes(theirs.substring(3)))) return true;
            }
        }
        return false;
    }

    /** In Latin-1 every byte is one character, so that text can be cut without changing a byte. */
    static byte[] latin1(String text) {
        return text.getBytes(StandardCharsets.ISO_8859_1);
    }

    /** A field that is an id or a name. A real receiver reads `data` with its JSON library. */
    static String field(String body, String name) {
        int from = body.indexOf("\"" + name + "\":\"") + name.length() + 4;
        return body.substring(from, body.indexOf('"', from));
    }

    static void take(HttpExchange exchange) throws IOException {
        try (exchange) {
            byte[] body = exchange.getRequestBody().readNBytes(MOST_BYTES + 1);
            String text = new String(body, StandardCharsets.ISO_8859_1);
            boolean isOurs = body.length <= MOST_BYTES
                && headerIsOurs(exchange.getRequestHeaders(), body) && bodyIsOurs(text);
            // Not 401: that would pause the subscription.
            int status = isOurs ? 200 : 400;
            String line = "refused";
            if (isOurs) {
                String eventId = field(text, "event_id");
                // Store the message here, and process it after the response.
                line = (SEEN.add(eventId) ? "verified " : "duplicate ") + field(text, "event") + " " + eventId;
            }
            System.out.println(line);
            exchange.sendResponseHeaders(status, -1);
        } catch (GeneralSecurityException unheardOf) {
            throw new IllegalStateException(unheardOf);
        }
    }

    public static void main(String[] args) throws IOException {
        int port = Integer.parseInt(System.getenv().getOrDefault("PORT", "8000"));
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 0);
        server.createContext("/", Receiver::take);
        server.setExecutor(Executors.newFixedThreadPool(8));
        server.start();
        System.out.println("listening on " + server.getAddress().getPort());
    }
}
