//! The sources of values, and their precedence.
//!
//! Flags override the environment, the environment overrides the file, and the file overrides the default. All values
//! are text here; `values` parses them.

use super::definitions::{DEFINITIONS, Definition, find};
use super::{ConfigProblem, Problems};
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The source of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// On the command line.
    Flag,
    /// By this environment variable.
    Environment(String),
    /// In a file, at a line.
    File(PathBuf, usize),
    /// Nowhere.
    Default,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Flag => f.write_str("flag"),
            Source::Environment(variable) => write!(f, "environment {variable}"),
            Source::File(path, line) => write!(f, "file {}:{line}", path.display()),
            Source::Default => f.write_str("default"),
        }
    }
}

/// A value as written, and its source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourcedValue {
    /// The texts: several only if the setting is repeatable, none if it is not set.
    pub texts: Vec<String>,
    /// Its source.
    pub source: Source,
}

/// Values by the name of their setting.
pub type Layer = BTreeMap<&'static str, SourcedValue>;

/// Reads the values in the environment. An empty variable counts as unset: this is how container files unset one.
pub fn from_environment(variable: &dyn Fn(&str) -> Option<String>) -> Layer {
    let set = |definition: &Definition| {
        let name = definition.variable();
        let text = variable(&name).filter(|text| !text.is_empty())?;
        Some((definition.name, SourcedValue { texts: listed(definition, &text), source: Source::Environment(name) }))
    };
    DEFINITIONS.iter().filter_map(set).collect()
}

/// A variable cannot be repeated like a flag, so a repeatable setting is a comma-separated list there.
fn listed(definition: &Definition, text: &str) -> Vec<String> {
    if is_repeatable(definition) {
        text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect()
    } else {
        vec![text.to_owned()]
    }
}

fn is_repeatable(definition: &Definition) -> bool {
    ["allow-network", "name-server", "trust-proxy"].contains(&definition.name)
}

/// Reads the values of a TOML file. Keys are the names of flags, with dashes or underscores.
pub fn from_file(path: &Path, content: &str) -> Result<Layer, Problems> {
    let file = File { path, content };
    let table = DeTable::parse(content).map_err(|error| {
        file.problem(error.span().unwrap_or_default(), format!("is not valid TOML: {}", error.message().trim()))
    })?;
    let mut layer = Layer::new();
    let mut problems = Vec::new();
    for (key, value) in table.get_ref() {
        match file.written(key, value) {
            Ok((name, written)) => {
                if layer.insert(name, written).is_some() {
                    problems.extend(file.problem(key.span(), format!("sets {name} twice")).0);
                }
            }
            Err(problem) => problems.extend(problem.0),
        }
    }
    if problems.is_empty() { Ok(layer) } else { Err(Problems(problems)) }
}

struct File<'a> {
    path: &'a Path,
    content: &'a str,
}

impl File<'_> {
    fn source(&self, span: &Range<usize>) -> Source {
        let before = self.content.get(..span.start).unwrap_or_default();
        Source::File(self.path.to_owned(), before.matches('\n').count() + 1)
    }

    fn problem(&self, span: Range<usize>, message: String) -> Problems {
        Problems(vec![ConfigProblem(format!("{}: {message}", self.source(&span)))])
    }

    fn written(
        &self,
        key: &Spanned<std::borrow::Cow<'_, str>>,
        value: &Spanned<DeValue<'_>>,
    ) -> Result<(&'static str, SourcedValue), Problems> {
        let name = key.get_ref().replace('_', "-");
        let definition = find(&name).ok_or_else(|| {
            let names: Vec<&str> = DEFINITIONS.iter().map(|definition| definition.name).collect();
            self.problem(
                key.span(),
                format!("there is no setting {}; the settings are: {}", key.get_ref(), names.join(", ")),
            )
        })?;
        let not_plain = || {
            let kind =
                if is_repeatable(definition) { "a text or a list of texts" } else { "a text, number or boolean" };
            self.problem(value.span(), format!("{name} must be {kind}, not {}", value.get_ref().type_str()))
        };
        let texts = match value.get_ref() {
            DeValue::Array(values) if is_repeatable(definition) => {
                values.iter().map(|value| plain(value.get_ref()).ok_or_else(not_plain)).collect::<Result<_, _>>()?
            }
            value => vec![plain(value).ok_or_else(not_plain)?],
        };
        Ok((definition.name, SourcedValue { texts, source: self.source(&value.span()) }))
    }
}

fn plain(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(number) => Some(number.as_str().to_owned()),
        DeValue::Boolean(value) => Some(value.to_string()),
        _ => None,
    }
}

/// The value of the layer with the highest precedence, or the default.
pub fn winner(definition: &Definition, layers: &[&Layer]) -> SourcedValue {
    let set = layers.iter().find_map(|layer| layer.get(definition.name));
    set.cloned().unwrap_or_else(|| SourcedValue {
        texts: definition.default.map(str::to_owned).into_iter().collect(),
        source: Source::Default,
    })
}
