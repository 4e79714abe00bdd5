//! Finds the cases to run: files, folders, or the built-in cases.

use super::super::Failure;
use daybook_cases::{Scenario, ScenarioError, builtin, parse};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The default folder.
const FOLDER: &str = "scenarios";
/// The greatest depth of nested folders.
const MOST_DEEP: usize = 32;

/// Cases to run, and files that are not cases.
#[derive(Debug, Default)]
pub struct Gathered {
    /// The cases, in file order.
    pub cases: Vec<Scenario>,
    /// Their texts, in the same order.
    pub texts: Vec<String>,
    /// The errors of files that are not cases.
    pub broken: Vec<ScenarioError>,
    /// Whether they are the built-in cases.
    pub are_builtin: bool,
}

impl Gathered {
    fn take(&mut self, file: &Path, text: io::Result<String>) {
        let unreadable = |error: io::Error| {
            let message = format!("cannot be read: {error}");
            ScenarioError { file: file.to_owned(), line: 0, column: 0, message }
        };
        match text.map_err(unreadable).and_then(|text| Ok((parse(file, &text)?, text))) {
            Ok((case, text)) => {
                self.cases.push(case);
                self.texts.push(text);
            }
            Err(error) => self.broken.push(error),
        }
    }

    /// Keeps the cases whose file name or title contains a text.
    fn keep(&mut self, wanted: &str) {
        let wanted = wanted.to_lowercase();
        let has = |text: &str| text.to_lowercase().contains(&wanted);
        let is_kept = |case: &Scenario| has(&case.file.to_string_lossy()) || has(&case.title);
        let (cases, texts) = (std::mem::take(&mut self.cases), std::mem::take(&mut self.texts));
        (self.cases, self.texts) = cases.into_iter().zip(texts).filter(|(case, _)| is_kept(case)).unzip();
        self.broken.retain(|error| has(&error.file.to_string_lossy()));
    }
}

/// Reads the named cases and applies the filter.
pub fn gather(paths: &[PathBuf], filter: Option<&str>) -> Result<Gathered, Failure> {
    let mut gathered = Gathered::default();
    match files(paths)? {
        Some(files) => files.iter().for_each(|file| gathered.take(file, fs::read_to_string(file))),
        None => {
            gathered.are_builtin = true;
            builtin().iter().for_each(|(file, text)| gathered.take(Path::new(file), Ok((*text).to_owned())));
        }
    }
    if let Some(filter) = filter {
        gathered.keep(filter);
        if gathered.cases.is_empty() && gathered.broken.is_empty() {
            return Err(Failure::Senseless(format!("--filter: no case has {filter:?} in its file name or title")));
        }
    }
    Ok(gathered)
}

/// The named files, each once; `None` for the built-in cases.
fn files(paths: &[PathBuf]) -> Result<Option<Vec<PathBuf>>, Failure> {
    let here = [PathBuf::from(FOLDER)];
    let paths = match paths {
        [] if here[0].is_dir() => &here[..],
        [] => return Ok(None),
        paths => paths,
    };
    let mut files = Vec::new();
    for path in paths {
        let kind = fs::metadata(path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => Failure::Senseless(format!("there is no file or folder {}", path.display())),
            _ => Failure::Senseless(format!("{} cannot be read: {error}", path.display())),
        })?;
        let before = files.len();
        if kind.is_dir() {
            look_into(path, MOST_DEEP, &mut files)?;
            if files.len() == before {
                return Err(Failure::Senseless(format!("the folder {} has no .toml file", path.display())));
            }
        } else {
            files.push(path.clone());
        }
    }
    let mut seen = std::collections::BTreeSet::new();
    files.retain(|file| seen.insert(file.clone()));
    Ok(Some(files))
}

/// Finds the cases in a folder and its subfolders, ordered by name.
fn look_into(folder: &Path, deep: usize, files: &mut Vec<PathBuf>) -> Result<(), Failure> {
    let unreadable = |error: io::Error| Failure::Failed(format!("{} cannot be read: {error}", folder.display()));
    let entries = fs::read_dir(folder).and_then(|entries| entries.collect::<io::Result<Vec<_>>>());
    let mut entries: Vec<PathBuf> = entries.map_err(unreadable)?.into_iter().map(|entry| entry.path()).collect();
    entries.sort();
    for entry in entries {
        if entry.is_dir() {
            if deep > 0 {
                look_into(&entry, deep - 1, files)?;
            }
        } else if entry.extension().is_some_and(|extension| extension == "toml") {
            files.push(entry);
        }
    }
    Ok(())
}

/// The named files with their modification times. A difference means that a file changed.
pub fn picture(paths: &[PathBuf]) -> BTreeMap<PathBuf, Option<SystemTime>> {
    let found = files(paths).ok().flatten().unwrap_or_default();
    let changed = |file: &PathBuf| fs::metadata(file).and_then(|found| found.modified()).ok();
    found.into_iter().map(|file| (file.clone(), changed(&file))).collect()
}
