//! No circle of imports between files of different folders of a crate.
//!
//! A file that uses a name of another file has an arrow to it. The rule reads `use` declarations and paths in the code,
//! and follows re-exports to the file that defines the name. Three kinds of arrows do not count: a re-export itself;
//! arrows between a module and the modules around or inside it; and everything in tests.
//!
//! ```text
//! files of src ─► modules without tests ─► imports and paths ─► arrows ─► circles ─► those in several folders
//! ```

use super::rust_text::{code_only, words};
use super::{assert_none, project_files, root};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::slice;

/// The path of a module in its crate; empty for the crate itself.
type ModulePath = Vec<String>;

/// Arrows by file: from, to, and the paths that tie the two.
type Arrows = BTreeMap<String, BTreeMap<String, BTreeSet<String>>>;

/// How often a re-export may lead to another.
const MOST_REEXPORTS: usize = 8;

/// A name that a `use` declaration brings into a module.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Import {
    /// The full path; the last part is `*` if every name is meant.
    path: Vec<String>,
    /// What it is called here.
    name: String,
    is_reexport: bool,
}

/// What the rule reads of one file.
#[derive(Debug, Default)]
struct Module {
    file: String,
    imports: Vec<Import>,
    /// Paths in the code, outside `use` declarations.
    paths: BTreeSet<Vec<String>>,
    /// Names that the file defines.
    defines: BTreeSet<String>,
    /// Modules in other files that are compiled for tests only.
    test_modules: Vec<String>,
}

impl Module {
    fn read(file: &str, source: &str) -> Module {
        let code = code_only(source);
        let all = words(&code);
        let mut module = Module { file: file.to_owned(), ..Module::default() };
        let mut at = 0;
        while at < all.len() {
            let rest = &all[at..];
            at += match rest {
                ["#", "[", "cfg", "(", "test", ")", "]", after @ ..] => 7 + module.test_part(after),
                ["use", next, ..] if *next != "<" => 1 + module.import(&rest[1..], is_public(&all[..at])),
                ["struct" | "enum" | "trait" | "fn" | "const" | "static" | "type" | "union", name, ..]
                | ["macro_rules", "!", name, ..] => {
                    module.defines.insert((*name).to_owned());
                    1
                }
                [_, "::", ..] => module.path(rest),
                // The rest of a path whose beginning is not a name, or a method's type arguments.
                ["::" | ".", _, ..] => 2,
                _ => 1,
            };
        }
        module
    }

    /// Skips a module of tests, and returns its length. Other items for tests are read like all others.
    fn test_part(&mut self, after: &[&str]) -> usize {
        let at = match after {
            ["pub", "(", _, ")", ..] => 4,
            ["pub", ..] => 1,
            _ => 0,
        };
        match &after[at..] {
            ["mod", name, ";", ..] => {
                self.test_modules.push((*name).to_owned());
                at + 3
            }
            ["mod", _, "{", body @ ..] => at + 3 + group_length(body),
            _ => 0,
        }
    }

    /// Reads a `use` declaration after its first word, and returns its length.
    fn import(&mut self, declaration: &[&str], is_reexport: bool) -> usize {
        let length = declaration.iter().position(|word| *word == ";").unwrap_or(declaration.len());
        for (path, name) in use_tree(&declaration[..length]) {
            self.imports.push(Import { path, name, is_reexport });
        }
        length + 1
    }

    /// Reads a path in the code, and returns its length.
    fn path(&mut self, rest: &[&str]) -> usize {
        let is_name = |word: &&str| word.starts_with(|c: char| c.is_alphabetic() || c == '_');
        let pairs = rest[1..].chunks_exact(2).take_while(|pair| pair[0] == "::" && is_name(&pair[1]));
        let parts: Vec<String> =
            rest[..1].iter().copied().chain(pairs.map(|pair| pair[1])).map(str::to_owned).collect();
        let length = 2 * parts.len() - 1;
        if parts.len() > 1 {
            self.paths.insert(parts);
        }
        length
    }
}

/// Whether a declaration after these words is public.
fn is_public(before: &[&str]) -> bool {
    match before {
        [.., "pub"] => true,
        [.., ")"] => {
            before.iter().rposition(|word| *word == "(").is_some_and(|open| before[..open].ends_with(&["pub"]))
        }
        _ => false,
    }
}

/// The number of words up to the end of the current group, its closing brace included.
fn group_length(words: &[&str]) -> usize {
    let mut depth = 1;
    for (index, word) in words.iter().enumerate() {
        depth += i32::from(*word == "{") - i32::from(*word == "}");
        if depth == 0 {
            return index + 1;
        }
    }
    words.len()
}

/// The paths of a `use` declaration, each with its name: `a::{b, c as d}` is `a::b` and `a::c`, called `d`.
fn use_tree(tree: &[&str]) -> Vec<(Vec<String>, String)> {
    let Some(open) = tree.iter().position(|word| *word == "{") else {
        let (path, alias) = match tree {
            [path @ .., "as", alias] => (path, Some(*alias)),
            path => (path, None),
        };
        let mut path: Vec<String> = path.iter().filter(|word| **word != "::").map(|word| (*word).to_owned()).collect();
        if path.len() > 1 && path.last().is_some_and(|last| last == "self") {
            path.pop();
        }
        let name = alias.map(str::to_owned).or_else(|| path.last().cloned()).unwrap_or_default();
        return vec![(path, name)];
    };
    let group = &tree[open + 1..open + group_length(&tree[open + 1..])];
    let mut found = Vec::new();
    let (mut depth, mut start) = (0, 0);
    for index in 0..=group.len() {
        let word = group.get(index).copied().unwrap_or(",");
        depth += i32::from(word == "{") - i32::from(word == "}");
        if word == "," && depth == 0 {
            if index > start {
                found.extend(use_tree(&[&tree[..open], &group[start..index]].concat()));
            }
            start = index + 1;
        }
    }
    found
}

/// The modules of a crate by path, without those of tests.
struct Crate {
    modules: BTreeMap<ModulePath, Module>,
}

impl Crate {
    /// Reads the files of a crate's `src`, by their paths in it.
    fn read(files: &BTreeMap<String, String>) -> Crate {
        let has_library = files.contains_key("lib.rs");
        let mut modules = BTreeMap::new();
        for (file, source) in files {
            modules.insert(module_path(file, has_library), Module::read(file, source));
        }
        let of_tests = |(path, module): (&ModulePath, &Module)| {
            let inside = module.test_modules.iter().map(|name| [path.as_slice(), slice::from_ref(name)].concat());
            inside.collect::<Vec<ModulePath>>()
        };
        let tests: Vec<ModulePath> = modules.iter().flat_map(of_tests).collect();
        modules.retain(|path, _| !tests.iter().any(|test| path.starts_with(test)));
        Crate { modules }
    }

    /// A path as seen from the crate; `None` if it leads to another crate or is unknown.
    fn absolute(&self, from: &[String], path: &[String]) -> Option<Vec<String>> {
        let first = path.first()?;
        match first.as_str() {
            "crate" => Some(path[1..].to_vec()),
            "self" => Some([from, &path[1..]].concat()),
            "super" => {
                let up = path.iter().take_while(|part| *part == "super").count();
                Some([&from[..from.len().checked_sub(up)?], &path[up..]].concat())
            }
            _ if self.modules.contains_key(&[from, &path[..1]].concat()) => Some([from, path].concat()),
            _ => None,
        }
    }

    /// A path in the code, which may begin with a name that a `use` declaration brought in.
    fn absolute_in_code(&self, from: &[String], path: &[String]) -> Option<Vec<String>> {
        // What follows the name of a type is its own; the import of the type is an arrow already.
        let leads_on = |import: &&Import| import.is_reexport || import.name.starts_with(char::is_lowercase);
        let mut imports = self.modules.get(from)?.imports.iter().filter(leads_on);
        match imports.find(|import| Some(&import.name) == path.first()) {
            Some(import) => Some([self.absolute(from, &import.path)?.as_slice(), &path[1..]].concat()),
            None => self.absolute(from, path),
        }
    }

    /// The module that defines what a path leads to, through re-exports.
    fn definer(&self, path: &[String], reexports: usize) -> Option<&ModulePath> {
        let length = (0..=path.len()).rev().find(|length| self.modules.contains_key(&path[..*length]))?;
        let (at, module) = self.modules.get_key_value(&path[..length])?;
        let Some(name) = path.get(length).filter(|name| *name != "*" && !module.defines.contains(*name)) else {
            return Some(at);
        };
        if reexports == MOST_REEXPORTS {
            return Some(at);
        }
        if let Some(import) = module.imports.iter().find(|import| import.name == *name) {
            let target = self.absolute(at, &import.path)?;
            return if target == path { Some(at) } else { self.definer(&target, reexports + 1) };
        }
        let everything = module.imports.iter().filter(|import| import.is_reexport && import.name == "*");
        for import in everything {
            let target =
                self.absolute(at, &import.path).map(|target| [&target[..target.len() - 1], &path[length..]].concat());
            let found = target.and_then(|target| self.definer(&target, reexports + 1));
            if let Some(found) = found.filter(|found| self.modules[*found].defines.contains(name)) {
                return Some(found);
            }
        }
        Some(at)
    }

    fn arrows(&self) -> Arrows {
        let mut arrows = Arrows::new();
        for (from, module) in &self.modules {
            let imported = module.imports.iter().filter(|import| !import.is_reexport);
            let imported = imported.map(|import| (&import.path, self.absolute(from, &import.path)));
            let in_code = module.paths.iter().map(|path| (path, self.absolute_in_code(from, path)));
            for (path, target) in imported.chain(in_code) {
                let Some(to) = target.and_then(|target| self.definer(&target, 0)) else { continue };
                if !to.starts_with(from) && !from.starts_with(to) {
                    let ties = arrows.entry(module.file.clone()).or_default();
                    ties.entry(self.modules[to].file.clone()).or_default().insert(path.join("::"));
                }
            }
        }
        arrows
    }
}

/// `a/b.rs` and `a/b/mod.rs` are the module `a::b`; `lib.rs` is the crate. Next to it, `main.rs` is a crate of its own.
fn module_path(file: &str, has_library: bool) -> ModulePath {
    let path = file.strip_suffix(".rs").unwrap_or(file);
    let mut path: ModulePath = path.split('/').map(str::to_owned).collect();
    let is_root = path == ["lib"] || (path == ["main"] && !has_library);
    if is_root || path.last().is_some_and(|last| last == "mod") {
        path.pop();
    }
    path
}

/// The files that an arrow or several lead to.
fn reached(arrows: &Arrows, from: &str) -> BTreeSet<String> {
    let mut reached = BTreeSet::new();
    let mut next = vec![from];
    while let Some(file) = next.pop() {
        for to in arrows.get(file).into_iter().flat_map(BTreeMap::keys) {
            if reached.insert(to.clone()) {
                next.push(to);
            }
        }
    }
    reached
}

fn folder(file: &str) -> &str {
    file.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// The circles of a crate's files that lie in more than one folder, each as lines that name its files and their ties.
fn circles(files: &BTreeMap<String, String>) -> Vec<String> {
    let arrows = Crate::read(files).arrows();
    let reached: BTreeMap<&String, BTreeSet<String>> =
        arrows.keys().map(|file| (file, reached(&arrows, file))).collect();
    let is_reached = |from: &String, to: &String| reached.get(from).is_some_and(|reached| reached.contains(to));
    let mut found: BTreeSet<Vec<&String>> = BTreeSet::new();
    for file in reached.keys() {
        found.insert(
            reached.keys().filter(|other| is_reached(file, other) && is_reached(other, file)).copied().collect(),
        );
    }
    let is_refused = |circle: &&Vec<&String>| circle.iter().any(|file| folder(file) != folder(circle[0]));
    found.iter().filter(is_refused).map(|circle| described(circle, &arrows)).collect()
}

fn described(circle: &[&String], arrows: &Arrows) -> String {
    let mut text = format!("a circle of {} files in different folders:", circle.len());
    for from in circle {
        for (to, names) in arrows[*from].iter().filter(|(to, _)| circle.contains(to)) {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            text += &format!("\n    {from} uses {to}: {}", names.join(", "));
        }
    }
    text
}

/// The sources of every crate, by crate and path in its `src`.
fn sources() -> BTreeMap<String, BTreeMap<String, String>> {
    let mut crates: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
    for file in project_files() {
        let name = file.strip_prefix(root().join("crates")).ok().and_then(|file| file.to_str());
        let Some((crate_name, path)) = name.and_then(|name| name.split_once("/src/")) else { continue };
        if path.ends_with(".rs") && !crate_name.contains('/') {
            let source = fs::read_to_string(&file).expect("a source file is readable UTF-8");
            crates.entry(crate_name.to_owned()).or_default().insert(path.to_owned(), source);
        }
    }
    crates
}

#[cfg(test)]
fn files(files: &[(&str, &str)]) -> BTreeMap<String, String> {
    files.iter().map(|(file, source)| ((*file).to_owned(), (*source).to_owned())).collect()
}

#[test]
fn a_circle_between_folders_is_refused_with_its_files_and_names() {
    let found = circles(&files(&[
        ("lib.rs", "mod a; mod b;"),
        ("a.rs", "use crate::b::c::{self, Low};\npub struct High;"),
        ("b/mod.rs", "pub mod c;"),
        ("b/c.rs", "use crate::a::High;\npub struct Low;"),
    ]));
    let expected = "a circle of 2 files in different folders:
    a.rs uses b/c.rs: crate::b::c, crate::b::c::Low
    b/c.rs uses a.rs: crate::a::High";
    assert_eq!(found, [expected]);
}

#[test]
fn a_circle_over_several_files_is_one() {
    let found = circles(&files(&[
        ("a.rs", "use crate::b::B; use crate::d::D; pub struct A;"),
        ("b.rs", "use crate::c::c::C; pub struct B;"),
        ("c/mod.rs", "pub mod c;"),
        ("c/c.rs", "use crate::a::A; pub struct C;"),
        ("d.rs", "pub struct D;"),
    ]));
    assert_eq!(found.len(), 1);
    assert!(found[0].starts_with("a circle of 3 files"), "{found:?}");
}

/// Whether a line in `low/x.rs` makes a circle with `high.rs`, which uses it.
#[cfg(test)]
fn closes_a_circle(line: &str) -> bool {
    let found = circles(&files(&[
        ("lib.rs", "pub use high::High as Renamed;"),
        ("high.rs", "use crate::low::x::X;\npub struct High;\npub fn high() {}"),
        ("low/mod.rs", "pub mod x;\npub mod y;\npub use y::*;"),
        ("low/x.rs", &format!("pub struct X;\n{line}")),
        ("low/y.rs", "pub use crate::high::{self, high, High};\npub struct Y;"),
        ("low/x/inner.rs", "pub struct Inner;"),
    ]));
    !found.is_empty()
}

#[test]
fn every_way_to_name_a_file_counts() {
    let ways = [
        "use crate::high::High;",
        "use crate::{low::y::Y, high::{high as low, *}};",
        "use super::super::high;",
        "use crate::high; fn f() { high::high() }",
        "fn f() { crate::high::high() }",
        "fn f() -> super::super::high::High { High }",
        "use crate::Renamed;",
        "use super::y::High;",
        "use crate::low::High;",
        "use super::y; fn f() { y::high() }",
        "#[cfg(test)]\nuse crate::high::High;",
        "const A: char = '\"'; use crate::high::High; const B: char = '\"';",
    ];
    for way in ways {
        assert!(closes_a_circle(way), "{way}");
    }
}

#[test]
fn text_tests_and_other_crates_do_not_count() {
    let others = [
        "use super::y::Y;",
        "use super::Y;",
        "// use crate::high::High;",
        "/// [`crate::high::High`]",
        "const A: &str = \"use crate::high::High;\";",
        "#[cfg(test)]\nmod tests { use crate::high::High; fn f() {} }",
        "#[cfg(test)]\nmod inner;",
        "use other::high::High;",
        "fn f() -> impl Iterator + use<'a> { other::high() }",
        "pub use crate::high::High;",
        "pub(crate) use crate::high::High;",
    ];
    for other in others {
        assert!(!closes_a_circle(other), "{other}");
    }
}

#[test]
fn a_module_and_those_inside_it_may_know_each_other() {
    let found = circles(&files(&[
        ("a.rs", "mod b; use b::B; pub struct A;"),
        ("a/b.rs", "use super::A; use super::c::C; pub struct B;"),
        ("a/c.rs", "use super::b::B; pub struct C;"),
    ]));
    assert_eq!(found, [""; 0]);
}

#[test]
fn files_of_tests_do_not_count() {
    let mut all = files(&[
        ("a.rs", "#[cfg(test)]\nmod tests;\npub struct A;"),
        ("a/tests.rs", "use crate::b::c::C; pub struct T;"),
        ("b/c.rs", "use crate::a::tests::T; pub struct C;"),
    ]);
    assert_eq!(circles(&all), [""; 0]);
    all.insert("a.rs".to_owned(), "mod tests;\npub struct A;".to_owned());
    assert_eq!(circles(&all).len(), 1);
}

#[test]
fn no_crate_has_a_circle_between_folders() {
    let crates = sources();
    assert!(crates.len() >= 12, "only {:?} were found", crates.keys());
    let mut offences = Vec::new();
    for (crate_name, files) in &crates {
        assert!(files.contains_key("lib.rs"), "{crate_name} has no lib.rs");
        offences.extend(circles(files).into_iter().map(|circle| format!("crates/{crate_name}/src: {circle}")));
    }
    assert_none(&offences);
}
