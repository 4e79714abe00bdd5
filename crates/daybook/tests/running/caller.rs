//! A client with its own address: over TLS or plain, by HTTP/1.1 or HTTP/2.

use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::client::conn::{http1, http2};
use hyper::{Request, Response, Version};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::runtime::Runtime;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// The host name of the site.
pub const SITE: &str = "books.example.com";

trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<S: AsyncRead + AsyncWrite + Unpin + Send> Stream for S {}

/// A client.
#[derive(Clone, Debug)]
pub struct Caller {
    from: Ipv4Addr,
    to: SocketAddr,
    /// The trusted certificate authority; `None` for plain HTTP.
    authority: Option<Vec<u8>>,
    /// Headers of every request.
    headers: Vec<(String, String)>,
    host: String,
    version: Version,
}

impl Caller {
    /// A client in plain HTTP, from one of this machine's loopback addresses.
    pub fn plain(from: Ipv4Addr, to: SocketAddr) -> Caller {
        Caller { from, to, authority: None, headers: Vec::new(), host: SITE.to_owned(), version: Version::HTTP_11 }
    }

    /// A client over TLS that trusts an authority.
    pub fn by_tls(from: Ipv4Addr, to: SocketAddr, authority: &[u8]) -> Caller {
        Caller { authority: Some(authority.to_vec()), ..Caller::plain(from, to) }
    }

    /// Adds a header to every request.
    pub fn with(mut self, name: &str, value: &str) -> Caller {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Uses another host name.
    pub fn calling(self, host: &str) -> Caller {
        Caller { host: host.to_owned(), ..self }
    }

    /// Uses HTTP/2.
    pub fn by_http_2(self) -> Caller {
        Caller { version: Version::HTTP_2, ..self }
    }

    async fn connect(&self) -> Box<dyn Stream> {
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.bind((self.from, 0).into()).expect("a loopback address");
        let stream: TcpStream = socket.connect(self.to).await.expect("the other side is there");
        let Some(authority) = &self.authority else { return Box::new(stream) };
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from(authority.clone())).expect("a certificate");
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let builder = builder.with_safe_default_protocol_versions().expect("versions");
        let mut config = builder.with_root_certificates(roots).with_no_client_auth();
        let protocol: &[u8] = if self.version == Version::HTTP_2 { b"h2" } else { b"http/1.1" };
        config.alpn_protocols = vec![protocol.to_vec()];
        let name = ServerName::try_from(SITE).expect("a name");
        let stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await.expect("hands are shaken");
        assert_eq!(stream.get_ref().1.alpn_protocol(), Some(protocol), "the version of HTTP that was asked for");
        Box::new(stream)
    }

    /// A request.
    pub fn request(&self, method: &str, path: &str, more: &[(&str, &str)], body: &str) -> Request<Full<Bytes>> {
        let mut request = Request::builder().method(method);
        request = if self.version == Version::HTTP_2 {
            request.uri(format!("https://{}{path}", self.host))
        } else {
            request.uri(path).header("host", &self.host)
        };
        let own = self.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        for (name, value) in own.chain(more.iter().copied()) {
            request = request.header(name, value);
        }
        request.body(Full::new(Bytes::from(body.to_owned()))).expect("a request")
    }

    /// Makes a call.
    pub fn call(&self, method: &str, path: &str, more: &[(&str, &str)], body: &str) -> Response<String> {
        let request = self.request(method, path, more, body);
        let answering = async {
            let stream = TokioIo::new(self.connect().await);
            let answer = if self.version == Version::HTTP_2 {
                let (mut sender, driver) = http2::handshake(TokioExecutor::new(), stream).await.expect("HTTP/2");
                tokio::spawn(driver);
                sender.send_request(request).await.expect("an answer")
            } else {
                let (mut sender, driver) = http1::handshake(stream).await.expect("HTTP/1");
                tokio::spawn(driver);
                sender.send_request(request).await.expect("an answer")
            };
            let (parts, body) = answer.into_parts();
            let bytes = body.collect().await.expect("a body").to_bytes();
            Response::from_parts(parts, String::from_utf8(bytes.to_vec()).expect("text"))
        };
        Runtime::new().expect("a runtime").block_on(answering)
    }

    /// Opens an HTTP/2 connection that lets the server send this many bytes of each response, until the client reads
    /// them. It pings the server all the time.
    pub async fn with_window(&self, bytes: u32) -> http2::SendRequest<Full<Bytes>> {
        let mut builder = http2::Builder::new(TokioExecutor::new());
        builder.timer(TokioTimer::new()).keep_alive_interval(Duration::from_millis(20));
        builder.initial_stream_window_size(bytes);
        let (sender, driver) = builder.handshake(TokioIo::new(self.connect().await)).await.expect("HTTP/2");
        tokio::spawn(driver);
        sender
    }

    /// Sends the beginning of a request and leaves the connection open.
    pub fn begin(&self, bytes: &str) -> std::net::TcpStream {
        let connecting = async {
            let socket = TcpSocket::new_v4().expect("a socket");
            socket.bind((self.from, 0).into()).expect("a loopback address");
            let mut stream = socket.connect(self.to).await.expect("the other side is there");
            stream.write_all(bytes.as_bytes()).await.expect("it is sent");
            stream.into_std().expect("a stream")
        };
        Runtime::new().expect("a runtime").block_on(connecting)
    }

    /// Fetches a page.
    pub fn get(&self, path: &str) -> Response<String> {
        self.call("GET", path, &[], "")
    }

    /// Sends bytes unchanged and returns the whole response.
    pub fn send_as_it_is(&self, bytes: &str) -> String {
        let exchanging = async {
            let mut stream = self.connect().await;
            stream.write_all(bytes.as_bytes()).await.expect("it is sent");
            let mut answer = Vec::new();
            // A connection closed without a TLS close notification has still responded.
            let _ = stream.read_to_end(&mut answer).await;
            String::from_utf8(answer).expect("text")
        };
        Runtime::new().expect("a runtime").block_on(exchanging)
    }

    /// Tries to sign in and returns the response.
    pub fn sign_in(&self, email: &str, password: &str) -> Response<String> {
        let page = self.get("/console/sign-in");
        let cookie = cookie_of(&page, "daybook_door");
        let (token, email) = (token_of(&page), email.replace('@', "%40"));
        self.send_form("/console/sign-in", &cookie, &format!("csrf={token}&email={email}&password={password}"))
    }

    /// Submits a form as a browser does.
    pub fn send_form(&self, path: &str, cookie: &str, form: &str) -> Response<String> {
        let headers = [
            ("cookie", cookie),
            ("sec-fetch-site", "same-origin"),
            ("content-type", "application/x-www-form-urlencoded"),
        ];
        self.call("POST", path, &headers, form)
    }
}

/// A cookie in a response, with its attributes.
pub fn whole_cookie_of(answer: &Response<String>, name: &str) -> String {
    let cookies = answer.headers().get_all("set-cookie").iter().filter_map(|value| value.to_str().ok());
    let wanted = |cookie: &&str| cookie.split('=').next().is_some_and(|own| own.trim_start_matches("__Host-") == name);
    let found: Vec<&str> = cookies.filter(wanted).collect();
    assert_eq!(found.len(), 1, "{name} in {answer:?}");
    found[0].to_owned()
}

/// The name and value of a cookie in a response.
pub fn cookie_of(answer: &Response<String>, name: &str) -> String {
    whole_cookie_of(answer, name).split(';').next().unwrap_or_default().to_owned()
}

/// The token of the form on a page.
pub fn token_of(page: &Response<String>) -> String {
    let after = page.body().split("name=\"csrf\" value=\"").nth(1);
    after.and_then(|rest| rest.split('"').next()).unwrap_or_else(|| panic!("{page:?}")).to_owned()
}
