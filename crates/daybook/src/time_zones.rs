//! The setting `time-zones`: a folder of compiled time zones that replaces the built-in ones.
//!
//! The folder has the layout of `/usr/share/zoneinfo` in the package `tzdata`: a TZif file for each zone, named like
//! the zone. A zone without a file uses the built-in data.

use crate::config::ConfigProblem;
use daybook_engine::zone;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// The first bytes of a compiled time zone.
const MAGIC: &[u8] = b"TZif";
/// Subfolders with other versions of the same zones: without and with leap seconds.
const OTHERS: [&str; 2] = ["posix", "right"];
/// The largest file of a zone; the largest in use have about 4,000 bytes.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Makes the program use the zones in a folder from now on.
pub fn use_folder(folder: &Path) -> Result<(), ConfigProblem> {
    let problem = |sentence: String| ConfigProblem(format!("time-zones {}: {sentence}", folder.display()));
    let mut files = BTreeMap::new();
    collect(folder, folder, &mut files).map_err(|error| problem(format!("the folder cannot be read: {error}")))?;
    if files.is_empty() {
        return Err(problem("the folder holds no compiled time zone (TZif), as /usr/share/zoneinfo does".to_owned()));
    }
    zone::provide(&version(folder), files).map_err(|broken| match broken {
        Some(name) => problem(format!("the file {name} is damaged")),
        None => problem("time-zone data were already loaded".to_owned()),
    })
}

fn collect(root: &Path, folder: &Path, files: &mut BTreeMap<String, Vec<u8>>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let Some(name) = path.strip_prefix(root).ok().and_then(Path::to_str).map(str::to_owned) else { continue };
        let about = fs::metadata(&path)?;
        if about.is_dir() {
            if !OTHERS.contains(&name.as_str()) {
                collect(root, &path, files)?;
            }
        } else if about.is_file() && about.len() <= FILE_BYTES_MAX {
            let bytes = fs::read(&path)?;
            if bytes.starts_with(MAGIC) {
                files.insert(name, bytes);
            }
        }
    }
    Ok(())
}

/// The version of the data in a folder: stated in the folder, or else the folder's name.
fn version(folder: &Path) -> String {
    let read = |name: &str| fs::read_to_string(folder.join(name)).ok();
    let of_source = || read("tzdata.zi")?.lines().next()?.strip_prefix("# version ").map(str::to_owned);
    let named = read("+VERSION").map(|text| text.trim().to_owned()).or_else(of_source);
    named.filter(|name| !name.is_empty()).unwrap_or_else(|| {
        let path: PathBuf = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
        format!("of {}", path.display())
    })
}
