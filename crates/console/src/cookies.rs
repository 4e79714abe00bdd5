//! The console's cookies: their names, and how they are read and set.

use axum::http::header::{COOKIE, SET_COOKIE};
use axum::http::{HeaderMap, HeaderValue};
use axum::response::Response;
use cookie::time::Duration;
use cookie::{Cookie, SameSite};

/// The cookie with the session token.
pub const SESSION: &str = "daybook_session";
/// The cookie with the temporary token of a user who is not signed in.
pub const DOOR: &str = "daybook_door";
/// The cookie with a message for the next page.
pub const NOTICE: &str = "daybook_notice";
/// The cookie with the chosen colour theme.
pub const THEME: &str = "daybook_theme";
/// Browsers accept a cookie with this prefix only from the host itself over https, so no other host can set it.
const HOST_ONLY: &str = "__Host-";

/// The cookies of a request.
pub struct Cookies<'a> {
    cookies: Vec<Cookie<'a>>,
    prefix: &'static str,
}

fn prefix(base_url: &str) -> &'static str {
    if base_url.starts_with("https://") { HOST_ONLY } else { "" }
}

impl<'a> Cookies<'a> {
    /// Reads the cookies.
    pub fn of(headers: &'a HeaderMap, base_url: &str) -> Cookies<'a> {
        let texts = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        Cookies { cookies: texts.flat_map(Cookie::split_parse).flatten().collect(), prefix: prefix(base_url) }
    }

    /// The value of a cookie.
    pub fn get(&self, name: &str) -> Option<&str> {
        let is_it = |known: &Cookie<'_>| known.name().strip_prefix(self.prefix) == Some(name);
        self.cookies.iter().find(|known| is_it(known)).map(Cookie::value)
    }
}

/// Sets a cookie, for so many seconds or until the browser ends.
pub fn set_cookie(response: &mut Response, name: &str, value: &str, seconds: Option<u32>, base_url: &str) {
    let prefix = prefix(base_url);
    let is_host_only = !prefix.is_empty();
    let mut cookie = Cookie::build((format!("{prefix}{name}"), value))
        .path(if is_host_only { "/" } else { "/console" })
        .secure(is_host_only)
        .http_only(true)
        .same_site(SameSite::Lax);
    if let Some(seconds) = seconds {
        cookie = cookie.max_age(Duration::seconds(seconds.into()));
    }
    if let Ok(value) = HeaderValue::from_str(&cookie.to_string()) {
        response.headers_mut().append(SET_COOKIE, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::Body;

    #[test]
    fn cookies_are_read_by_their_whole_name_and_the_first_counts() {
        let mut given = HeaderMap::new();
        let text = "daybook_theme=dark; a; daybook_session=one=1;daybook_session=two";
        given.append(COOKIE, HeaderValue::from_static(text));
        given.append(COOKIE, HeaderValue::from_static("__Host-daybook_session=\"three\""));
        let session = |base_url| Cookies::of(&given, base_url).get(SESSION).map(str::to_owned);
        assert_eq!(session("http://localhost").as_deref(), Some("one=1"));
        assert_eq!(session("https://books.example.com").as_deref(), Some("\"three\""));
        assert_eq!(Cookies::of(&given, "https://books.example.com").get(THEME), None);
    }

    #[test]
    fn a_cookie_is_out_of_reach_of_scripts_and_other_sites() {
        let set = |base_url| {
            let mut response = Response::new(Body::empty());
            set_cookie(&mut response, SESSION, "a%2Bb", Some(60), base_url);
            let set = response.headers()[SET_COOKIE].to_str().expect("text").to_owned();
            let mut parts: Vec<String> = set.split("; ").map(str::to_owned).collect();
            parts[1..].sort();
            parts
        };
        let expected = ["daybook_session=a%2Bb", "HttpOnly", "Max-Age=60", "Path=/console", "SameSite=Lax"];
        assert_eq!(set("http://localhost"), expected);
        let expected = ["__Host-daybook_session=a%2Bb", "HttpOnly", "Max-Age=60", "Path=/", "SameSite=Lax", "Secure"];
        assert_eq!(set("https://books.example.com"), expected);
    }
}
