//! The modules of a crate as its sources declare them, and which module's code names which others.
//!
//! Names are resolved as the compiler does, as far as modules need it: paths from `crate`, `self`
//! and `super`, names in scope, globs, re-exports and private imports, `use` inside functions,
//! paths in expressions and types, and paths in the tokens of macros and attributes. Code under
//! `#[cfg(test)]` is left out. Names that a macro makes belong to the module that calls it.

use proc_macro2::{TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};
use syn::visit::{self, Visit};
use syn::{Attribute, Item, UseTree};

/// A path of modules from the root of a crate, which is empty.
pub type ModulePath = Vec<String>;

/// A path in code: its segments, `crate`, `self` and `super` included.
type NamePath = Vec<String>;

/// The path of `name` below `path`.
fn child_of(path: &[String], name: &str) -> Vec<String> {
    path.iter().cloned().chain([name.to_string()]).collect()
}

/// What a `use` brings into scope.
#[derive(Debug)]
struct Import {
    path: NamePath,
    /// The name that it gets; None for a glob.
    name: Option<String>,
}

#[derive(Debug, Default)]
struct Module {
    /// The module of the file in which it stands.
    file: ModulePath,
    children: BTreeSet<String>,
    /// Items that are no modules, macros included.
    items: BTreeSet<String>,
    imports: Vec<Import>,
    /// Paths that are used in its code.
    paths: BTreeSet<NamePath>,
    /// Children whose macros are in scope without a path, from `#[macro_use]`.
    macro_children: Vec<String>,
}

/// What a name stands for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Target {
    Module(ModulePath),
    /// An item of this module.
    ItemOf(ModulePath),
}

impl Target {
    fn module(self) -> ModulePath {
        match self {
            Target::Module(path) | Target::ItemOf(path) => path,
        }
    }
}

/// A crate below one root file.
#[derive(Debug, Default)]
pub struct Crate {
    modules: BTreeMap<ModulePath, Module>,
    /// Files that were read, from `src`.
    pub files: BTreeSet<String>,
    /// Modules of tests in files of their own, which are not read.
    pub tests: BTreeSet<ModulePath>,
}

/// More re-exports than this in a row are a circle of re-exports.
const MAX_REEXPORTS: usize = 8;

impl Crate {
    /// The crate whose root is the file `root` (`lib.rs`), with files of `src` by their paths from
    /// there. Modules of tests are not read.
    pub fn read(root: &str, sources: &BTreeMap<String, String>) -> Crate {
        let mut found = Crate::default();
        found.read_file(root, &Vec::new(), sources);
        found
    }

    fn read_file(&mut self, file: &str, at: &ModulePath, sources: &BTreeMap<String, String>) {
        let text = &sources[file];
        let parsed = syn::parse_file(text).unwrap_or_else(|error| panic!("{file}: {error}"));
        self.files.insert(file.to_string());
        self.modules.insert(at.clone(), Module { file: at.clone(), ..Module::default() });
        let mut reader = Reader { of: self, at: at.clone(), file: at.clone(), others: Vec::new() };
        if parsed.attrs.iter().any(is_for_tests) {
            return;
        }
        reader.visit_file(&parsed);
        for module in reader.others {
            let stem = module.join("/");
            let names = [format!("{stem}.rs"), format!("{stem}/mod.rs")];
            let found = names.iter().find(|name| sources.contains_key(*name));
            let found = found.unwrap_or_else(|| panic!("{file}: no file for `mod {stem}`"));
            self.read_file(found, &module, sources);
        }
    }

    /// Pairs of files, as modules, of which the first names something of the second.
    pub fn edges(&self) -> BTreeSet<(ModulePath, ModulePath)> {
        let mut edges = BTreeSet::new();
        for (at, module) in &self.modules {
            let named = module.imports.iter().flat_map(|import| match import.name {
                // Names through a glob are resolved where they are used.
                None if import.path.iter().all(|segment| segment == "super") => BTreeSet::new(),
                _ => self.imported(at, &import.path, 0),
            });
            let used = module.paths.iter().flat_map(|path| self.resolve(at, path, 0));
            for target in named.chain(used) {
                let to = &self.modules[&target.module()].file;
                if *to != module.file {
                    edges.insert((module.file.clone(), to.clone()));
                }
            }
        }
        edges
    }

    /// What the path of a `use` in `at` stands for; nothing if it leads to another crate.
    fn imported(&self, at: &ModulePath, path: &[String], depth: usize) -> BTreeSet<Target> {
        match path {
            // A module in scope, as in `use b::*`.
            [name] if self.modules[at].children.contains(name) => {
                BTreeSet::from([Target::Module(child_of(at, name))])
            }
            _ => self.resolve(at, path, depth),
        }
    }

    /// What a path in the code of `at` stands for; nothing if it leads to another crate.
    fn resolve(&self, at: &ModulePath, path: &[String], depth: usize) -> BTreeSet<Target> {
        if depth > MAX_REEXPORTS {
            return BTreeSet::new();
        }
        let mut start = at.clone();
        let mut rest = path;
        let mut explicit = false;
        while let Some((first, others)) = rest.split_first() {
            match first.as_str() {
                "crate" => start.clear(),
                "super" => drop(start.pop()),
                "self" => {}
                _ => break,
            }
            explicit = true;
            rest = others;
        }
        if explicit { self.below(&start, rest, depth) } else { self.in_scope(at, path, depth) }
    }

    /// What `path` below the module `at` stands for.
    fn below(&self, at: &ModulePath, path: &[String], depth: usize) -> BTreeSet<Target> {
        let Some((name, rest)) = path.split_first() else {
            return BTreeSet::from([Target::Module(at.clone())]);
        };
        let named = self.named(at, name, depth);
        if named.is_empty() {
            return BTreeSet::from([Target::ItemOf(at.clone())]); // a macro made it
        }
        let named = prefix(named, rest);
        named.into_iter().flat_map(|target| self.onwards(target, rest, depth)).collect()
    }

    fn onwards(&self, target: Target, rest: &[String], depth: usize) -> BTreeSet<Target> {
        match target {
            Target::Module(module) => self.below(&module, rest, depth),
            item => BTreeSet::from([item]), // what follows is associated with it
        }
    }

    /// What a path that begins with a name in scope stands for.
    fn in_scope(&self, at: &ModulePath, path: &[String], depth: usize) -> BTreeSet<Target> {
        let Some((name, rest)) = path.split_first() else { return BTreeSet::new() };
        let mut named = self.named(at, name, depth);
        if rest.is_empty() {
            // A single name is no module: modules stand before `::` and in `use`.
            named.retain(|target| matches!(target, Target::ItemOf(_)));
        }
        if named.is_empty() {
            named = self.macro_in_scope(at, name);
        }
        let named = prefix(named, rest);
        named.into_iter().flat_map(|target| self.onwards(target, rest, depth)).collect()
    }

    /// A macro that `#[macro_use]` of a module above brings into scope.
    fn macro_in_scope(&self, at: &ModulePath, name: &str) -> BTreeSet<Target> {
        let above = (0..=at.len()).map(|n| at[..n].to_vec());
        let macros = above.flat_map(|above| {
            let module = &self.modules[&above];
            module.macro_children.iter().map(move |child| child_of(&above, child))
        });
        let holds = |module: &ModulePath| {
            self.modules.get(module).is_some_and(|module| module.items.contains(name))
        };
        macros.filter(holds).map(Target::ItemOf).collect()
    }

    /// What `name` stands for inside the module `at`: its own, what it imports by name, else what
    /// its globs bring.
    fn named(&self, at: &ModulePath, name: &str, depth: usize) -> BTreeSet<Target> {
        let Some(module) = self.modules.get(at) else { return BTreeSet::new() };
        let mut found = BTreeSet::new();
        if module.children.contains(name) {
            found.insert(Target::Module(child_of(at, name)));
        }
        if module.items.contains(name) {
            found.insert(Target::ItemOf(at.clone()));
        }
        for import in module.imports.iter().filter(|import| import.name.as_deref() == Some(name)) {
            let itself = import.path.first().is_some_and(|first| first == name);
            if !itself {
                found.extend(self.imported(at, &import.path, depth + 1));
            } else if module.children.contains(name) && depth < MAX_REEXPORTS {
                let child = child_of(at, name);
                found.extend(self.below(&child, &import.path[1..], depth + 1)); // `pub use a::a;`
            }
        }
        if found.is_empty() && depth < MAX_REEXPORTS {
            for import in module.imports.iter().filter(|import| import.name.is_none()) {
                for target in self.imported(at, &import.path, depth + 1) {
                    match target {
                        Target::Module(from) if from != *at => {
                            found.extend(self.named(&from, name, depth + 1));
                        }
                        _ => {}
                    }
                }
            }
        }
        found
    }
}

/// Of what a name stands for, what may stand before `rest`: where a module and a function have one
/// name, the module.
fn prefix(mut named: BTreeSet<Target>, rest: &[String]) -> BTreeSet<Target> {
    let is_module = |target: &Target| matches!(target, Target::Module(_));
    if !rest.is_empty() && named.iter().any(is_module) {
        named.retain(is_module);
    }
    named
}

/// Fills the modules of one file.
struct Reader<'a> {
    of: &'a mut Crate,
    at: ModulePath,
    file: ModulePath,
    /// Modules in files of their own that were declared.
    others: Vec<ModulePath>,
}

impl Reader<'_> {
    fn module(&mut self) -> &mut Module {
        self.of.modules.get_mut(&self.at).expect("it was entered")
    }

    fn import(&mut self, tree: &UseTree, before: &mut NamePath) {
        match tree {
            UseTree::Path(part) => {
                before.push(part.ident.to_string());
                self.import(&part.tree, before);
                before.pop();
            }
            UseTree::Name(part) => {
                let ident = part.ident.to_string();
                match ident.as_str() {
                    "self" => self.bind(before.clone(), before.last().cloned()),
                    _ => self.bind(child_of(before, &ident), Some(ident)),
                }
            }
            UseTree::Rename(part) => {
                let last = Some(part.ident.to_string()).filter(|ident| ident != "self");
                let path = before.iter().cloned().chain(last).collect();
                self.bind(path, Some(part.rename.to_string()));
            }
            UseTree::Glob(_) => self.bind(before.clone(), None),
            UseTree::Group(group) => {
                group.items.iter().for_each(|tree| self.import(tree, before));
            }
        }
    }

    fn bind(&mut self, path: NamePath, name: Option<String>) {
        self.module().imports.push(Import { path, name });
    }

    /// The paths in the tokens of a macro or an attribute, those in strings included
    /// (`#[serde(with = "super::text")]`).
    fn scan(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mark = |at: usize| match tokens.get(at) {
            Some(TokenTree::Punct(mark)) => mark.as_char(),
            _ => ' ',
        };
        let is_colon = |at: usize| mark(at) == ':';
        let mut at = 0;
        while at < tokens.len() {
            // A field, a method or a lifetime.
            let after_dot = at > 0 && matches!(mark(at - 1), '.' | '\'');
            match &tokens[at] {
                TokenTree::Group(group) => self.scan(group.stream()),
                TokenTree::Literal(literal) => self.scan_string(&literal.to_string()),
                TokenTree::Ident(ident) if !after_dot => {
                    let outside = at >= 2 && is_colon(at - 1) && is_colon(at - 2);
                    let mut path = vec![ident.to_string()];
                    while is_colon(at + 1) && is_colon(at + 2) {
                        let Some(TokenTree::Ident(next)) = tokens.get(at + 3) else { break };
                        path.push(next.to_string());
                        at += 3;
                    }
                    if !outside {
                        self.module().paths.insert(path);
                    }
                }
                _ => {}
            }
            at += 1;
        }
    }

    fn scan_string(&mut self, literal: &str) {
        let text = literal.trim_matches('"');
        let begins = ["crate::", "self::", "super::"].iter().any(|start| text.starts_with(start));
        if let (true, Ok(path)) = (begins, syn::parse_str::<syn::Path>(text)) {
            self.visit_path(&path);
        }
    }
}

/// True for `#[cfg(test)]`, also as a part of `all`.
pub fn is_for_tests(attribute: &Attribute) -> bool {
    let Ok(list) = attribute.meta.require_list() else { return false };
    let words: String = list.tokens.to_string().split_whitespace().collect();
    let words = words.strip_prefix("all(").unwrap_or(&words);
    list.path.is_ident("cfg") && words.split([',', ')']).any(|word| word == "test")
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

fn name(item: &Item) -> Option<String> {
    let ident = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Macro(item) => item.ident.as_ref()?,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Type(item) => &item.ident,
        _ => return None,
    };
    Some(ident.to_string())
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        if attributes(item).iter().any(is_for_tests) {
            if let Item::Mod(module) = item {
                self.of.tests.insert(child_of(&self.at, &module.ident.to_string()));
            }
            return;
        }
        self.module().items.extend(name(item));
        visit::visit_item(self, item);
    }
    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if !item.attrs.iter().any(is_for_tests) {
            visit::visit_impl_item_fn(self, item);
        }
    }
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        let ident = item.ident.to_string();
        let path = child_of(&self.at, &ident);
        let macros = item.attrs.iter().any(|attribute| attribute.path().is_ident("macro_use"));
        self.module().children.insert(ident.clone());
        self.module().macro_children.extend(macros.then_some(ident));
        let Some((_, items)) = &item.content else { return self.others.push(path) };
        let module = Module { file: self.file.clone(), ..Module::default() };
        self.of.modules.insert(path.clone(), module);
        let outer = std::mem::replace(&mut self.at, path);
        items.iter().for_each(|item| self.visit_item(item));
        self.at = outer;
    }
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        if item.leading_colon.is_none() {
            self.import(&item.tree, &mut Vec::new());
        }
    }
    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.leading_colon.is_none() {
            let segments = path.segments.iter().map(|segment| segment.ident.to_string());
            let segments = segments.collect();
            self.module().paths.insert(segments);
        }
        visit::visit_path(self, path);
    }
    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        visit::visit_macro(self, call);
        self.scan(call.tokens.clone());
    }
    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        // The rest is documentation and words.
        if let syn::Meta::List(list) = &attribute.meta {
            self.scan(list.tokens.clone());
        }
    }
    fn visit_vis_restricted(&mut self, _: &'ast syn::VisRestricted) {}
}
