//! The secrets key: 32 random bytes that encrypt the secrets in the database.
//!
//! The key is given as text (`DAYBOOK_SECRETS_KEY`), or it is in a file that the first start creates. Only the owner
//! can read the file. It contains the key as Base64, so that it can be copied into the variable; hexadecimal is
//! accepted too. A file that others can read, or with any other content, is refused: a leaked or truncated key must be
//! noticed now, not when it is needed.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// The length of a key.
pub const KEY_BYTES: usize = 32;

/// Larger than any encoded key.
const FILE_BYTES_MAX: u64 = 1_024;

/// The secrets key. Its `Debug` output hides it.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretsKey(pub [u8; KEY_BYTES]);

impl fmt::Debug for SecretsKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(set)")
    }
}

/// Why there is no key.
#[derive(Debug)]
pub enum KeyError {
    /// The given text is not a key.
    BadText,
    /// The file does not contain a key; with its size in bytes.
    BadFile(PathBuf, usize),
    /// Users other than the owner can access the file; with its mode.
    Open(PathBuf, u32),
    /// Reading or creating the file failed.
    Io(PathBuf, io::Error),
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KeyError::BadText => f.write_str(
                "secrets-key = (set): must be 32 bytes in Base64 (44 characters) or hexadecimal (64 characters)",
            ),
            KeyError::BadFile(path, 0) => write!(
                f,
                "the secrets key file {} is empty: put the key back from your backup, or remove the file if this \
                 database has never been started",
                path.display()
            ),
            KeyError::BadFile(path, bytes) => write!(
                f,
                "the secrets key file {} holds no valid key ({bytes} bytes): it must hold 32 bytes in Base64 or \
                 hexadecimal",
                path.display()
            ),
            KeyError::Open(path, mode) => write!(
                f,
                "other users can access the secrets key file {0} (mode {mode:04o}): run `chmod 600 {0}`, and \
                 consider who may have read it",
                path.display()
            ),
            KeyError::Io(path, error) => write!(f, "the secrets key file {}: {error}", path.display()),
        }
    }
}

impl std::error::Error for KeyError {}

/// The source of the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// It was given as text.
    Given,
    /// The file existed.
    Found,
    /// The file was created now.
    Made,
}

/// The given key, or the key in the file, which is created if it is missing. `mint` generates a new key.
pub fn find_or_make(
    given: Option<&str>,
    path: &Path,
    mint: impl FnOnce() -> io::Result<[u8; KEY_BYTES]>,
) -> Result<(SecretsKey, Origin), KeyError> {
    if let Some(text) = given {
        return parse(text).map(|key| (key, Origin::Given)).ok_or(KeyError::BadText);
    }
    let failed = |error| KeyError::Io(path.to_owned(), error);
    match File::open(path) {
        Ok(file) => read(file, path).map(|key| (key, Origin::Found)),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let key = SecretsKey(mint().map_err(failed)?);
            make(path, &key).map_err(failed)?;
            Ok((key, Origin::Made))
        }
        Err(error) => Err(failed(error)),
    }
}

/// Parses a key in Base64 or hexadecimal.
pub fn parse(text: &str) -> Option<SecretsKey> {
    let text = text.trim();
    let bytes = if text.len() == 2 * KEY_BYTES { from_hex(text)? } else { STANDARD.decode(text).ok()? };
    bytes.try_into().ok().map(SecretsKey)
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> =
        text.chars().map(|c| c.to_digit(16).and_then(|digit| digit.try_into().ok())).collect();
    Some(digits?.chunks(2).map(|pair| pair.iter().fold(0, |byte, digit| byte << 4 | digit)).collect())
}

fn read(file: File, path: &Path) -> Result<SecretsKey, KeyError> {
    let failed = |error| KeyError::Io(path.to_owned(), error);
    // The mode of the open file, not of the path, which may point elsewhere a moment later.
    let mode = file.metadata().map_err(failed)?.permissions().mode() & 0o7777;
    if mode & 0o077 != 0 {
        return Err(KeyError::Open(path.to_owned(), mode));
    }
    let mut bytes = Vec::new();
    file.take(FILE_BYTES_MAX).read_to_end(&mut bytes).map_err(failed)?;
    let key = std::str::from_utf8(&bytes).ok().and_then(parse);
    key.ok_or_else(|| KeyError::BadFile(path.to_owned(), bytes.len()))
}

/// Creates the file and syncs it to disk: data encrypted next must not outlive its key.
fn make(path: &Path, key: &SecretsKey) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(format!("{}\n", STANDARD.encode(key.0)).as_bytes())?;
    file.sync_all()?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder)?.sync_all()
}

/// Generates 32 random bytes from the operating system.
pub fn mint_secret() -> [u8; KEY_BYTES] {
    daybook_service::ids::random_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const ZERO_TO_31: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

    fn counting() -> [u8; KEY_BYTES] {
        std::array::from_fn(|place| place as u8)
    }

    fn never() -> io::Result<[u8; KEY_BYTES]> {
        panic!("no key is to be made")
    }

    fn folder() -> tempfile::TempDir {
        tempfile::tempdir().expect("a folder")
    }

    fn file_with(content: &[u8], mode: u32) -> (tempfile::TempDir, PathBuf) {
        let folder = folder();
        let path = folder.path().join("daybook.key");
        fs::write(&path, content).expect("the file can be written");
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("the mode can be set");
        (folder, path)
    }

    #[test]
    fn a_key_is_made_once_and_found_again() {
        let folder = folder();
        let path = folder.path().join("daybook.key");
        let (made, origin) = find_or_make(None, &path, || Ok(counting())).expect("a new key");
        assert_eq!((made.0, origin), (counting(), Origin::Made));
        assert_eq!(fs::metadata(&path).expect("the file is there").permissions().mode() & 0o7777, 0o600);
        assert_eq!(fs::read_to_string(&path).expect("it is text"), format!("{ZERO_TO_31}\n"));
        let (found, origin) = find_or_make(None, &path, never).expect("the same key");
        assert_eq!((found.0, origin), (counting(), Origin::Found));
    }

    #[test]
    fn a_key_may_be_given_in_base64_or_hexadecimal() {
        let hex = "000102030405060708090a0b0c0d0e0f101112131415161718191A1B1C1D1E1F";
        for text in [ZERO_TO_31, hex] {
            let (key, origin) = find_or_make(Some(text), Path::new("/nowhere/key"), never).expect("a good key");
            assert_eq!((key.0, origin), (counting(), Origin::Given));
        }
    }

    #[test]
    fn what_is_no_key_is_refused() {
        for text in ["", "AAEC", &hex_like('g'), &"00".repeat(31), &"00".repeat(33), &ZERO_TO_31[..43]] {
            assert!(matches!(find_or_make(Some(text), Path::new("x"), never), Err(KeyError::BadText)), "{text}");
        }
    }

    fn hex_like(digit: char) -> String {
        digit.to_string().repeat(64)
    }

    #[test]
    fn a_file_that_others_may_use_is_refused() {
        for mode in [0o640, 0o604, 0o660, 0o610, 0o602] {
            let (_folder, path) = file_with(ZERO_TO_31.as_bytes(), mode);
            let error = find_or_make(None, &path, never).expect_err("an open file");
            assert!(error.to_string().contains(&format!("(mode {mode:04o}): run `chmod 600 ")), "{error}");
        }
        let (_folder, path) = file_with(ZERO_TO_31.as_bytes(), 0o400);
        assert!(find_or_make(None, &path, never).is_ok(), "read-only for the owner is fine");
    }

    #[test]
    fn a_file_of_the_wrong_length_is_refused() {
        for (content, bytes) in [(&b"AAEC\n"[..], 5), (&[7; 32], 32), (&[b'A'; 2_000], 1_024)] {
            let (_folder, path) = file_with(content, 0o600);
            let error = find_or_make(None, &path, never).expect_err("no key");
            assert!(matches!(&error, KeyError::BadFile(_, length) if *length == bytes), "{error}");
        }
        let (_folder, path) = file_with(b"", 0o600);
        let error = find_or_make(None, &path, never).expect_err("no key");
        assert!(error.to_string().contains("is empty"), "{error}");
    }

    #[test]
    fn a_folder_that_is_missing_is_an_error_with_the_path() {
        let error = find_or_make(None, Path::new("/nowhere/at/all/daybook.key"), || Ok(counting()));
        assert!(error.expect_err("no folder").to_string().contains("/nowhere/at/all/daybook.key"));
    }

    #[test]
    fn minted_secrets_differ() {
        let (first, second) = (mint_secret(), mint_secret());
        assert_ne!(first, second);
        assert!(!format!("{:?}", SecretsKey(first)).contains(char::is_numeric));
    }
}
