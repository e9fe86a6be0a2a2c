//! Three habits that hide what code says, in the product code of all crates.
//!
//! - A parameter of a function with a tuple pattern (`(now, id): (Time, u32)`): several arguments
//!   that are packed to shorten the list. A struct names them, or they are arguments of their own.
//!   A tuple that is one thing keeps one name (`range: (u64, u64)`). Closures are free, as is
//!   `From`, whose function takes one argument.
//! - `match` on a `bool`: two arms, `true` and `false` or `_`, without guards. That is an `if`.
//! - `for_each` on the iterator of an `Option`: that is an `if let`. Types are not known here, so
//!   a value counts as an `Option` if it is `Some(..)`, if it is declared as one (a parameter, a
//!   `let` with a type), if every field or function of its name in the crate is one or returns
//!   one, or if it is made by a method that returns nothing else (`first`, `checked_add`, `ok`,
//!   ...).
//!
//! Code in the arguments and definitions of macros is not read.

use super::modules::is_for_tests;
use super::source::is_test_file;
use super::{File, assert_none, rust_files};
use std::collections::{BTreeMap, BTreeSet};
use syn::visit::{self, Visit};
use syn::{Expr, Lit, Member, Pat, ReturnType, Type};

/// Files in which the three are still found, with the number of places.
const KNOWN: &[(&str, usize)] = &[];

/// Methods of the standard library that return an `Option` and nothing else, whatever they are
/// called on.
const OPTIONS: &[&str] = &[
    "first",
    "last",
    "first_mut",
    "last_mut",
    "first_key_value",
    "last_key_value",
    "pop",
    "pop_front",
    "pop_back",
    "front",
    "back",
    "find",
    "find_map",
    "position",
    "ok",
    "err",
    "checked_add",
    "checked_sub",
    "checked_mul",
    "checked_div",
    "strip_prefix",
    "strip_suffix",
    "split_once",
    "as_deref",
    "as_deref_mut",
    "min_by_key",
    "max_by_key",
    "then",
    "then_some",
];

/// The names of fields and functions that a crate declares: whether all that have the name are
/// (return) an `Option`.
#[derive(Default)]
struct Options {
    fields: BTreeMap<String, bool>,
    functions: BTreeMap<String, bool>,
}

impl Options {
    fn field(&self, name: &str) -> bool {
        self.fields.get(name) == Some(&true)
    }
    fn function(&self, name: &str) -> bool {
        self.functions.get(name) == Some(&true)
    }
}

fn declare(names: &mut BTreeMap<String, bool>, name: &syn::Ident, option: bool) {
    *names.entry(name.to_string()).or_insert(true) &= option;
}

fn is_option(of: &Type) -> bool {
    match of {
        Type::Reference(inner) => is_option(&inner.elem),
        Type::Path(path) => path.path.segments.last().is_some_and(|last| last.ident == "Option"),
        _ => false,
    }
}

impl<'ast> Visit<'ast> for Options {
    fn visit_field(&mut self, field: &'ast syn::Field) {
        if let Some(name) = &field.ident {
            declare(&mut self.fields, name, is_option(&field.ty));
        }
    }
    fn visit_signature(&mut self, signature: &'ast syn::Signature) {
        let result = &signature.output;
        let option = matches!(result, ReturnType::Type(_, of) if is_option(of));
        declare(&mut self.functions, &signature.ident, option);
    }
}

/// What a file holds of the three.
struct Reader<'a> {
    options: &'a Options,
    /// The functions around, outermost first.
    functions: Vec<String>,
    /// Variables of the functions around whose declared type is `Option`.
    variables: BTreeSet<String>,
    /// The function of `From` may take its argument apart.
    in_from: bool,
    found: Vec<String>,
}

impl Reader<'_> {
    fn new(options: &Options) -> Reader<'_> {
        Reader {
            options,
            functions: Vec::new(),
            variables: BTreeSet::new(),
            in_from: false,
            found: Vec::new(),
        }
    }

    fn complain(&mut self, what: &str) {
        let place = self.functions.last().map_or("", String::as_str);
        self.found.push(format!("`{place}`: {what}"));
    }

    fn function<T>(&mut self, of: &syn::Signature, body: T, visit: impl FnOnce(&mut Self, T)) {
        self.functions.push(of.ident.to_string());
        for input in &of.inputs {
            let syn::FnArg::Typed(input) = input else { continue };
            match &*input.pat {
                Pat::Tuple(_) if !self.in_from => self.complain("a parameter is a tuple pattern"),
                Pat::Ident(name) if is_option(&input.ty) => {
                    self.variables.insert(name.ident.to_string());
                }
                _ => {}
            }
        }
        visit(self, body);
        self.functions.pop();
        if self.functions.is_empty() {
            self.variables.clear();
        }
    }

    fn makes_option(&self, value: &Expr) -> bool {
        match value {
            Expr::Reference(inner) => self.makes_option(&inner.expr),
            Expr::Paren(inner) => self.makes_option(&inner.expr),
            Expr::Field(field) => match &field.member {
                Member::Named(name) => self.options.field(&name.to_string()),
                Member::Unnamed(_) => false,
            },
            Expr::Path(path) => {
                path.path.get_ident().is_some_and(|name| self.variables.contains(&name.to_string()))
            }
            Expr::Call(call) => match &*call.func {
                Expr::Path(path) => path.path.segments.last().is_some_and(|last| {
                    last.ident == "Some" || self.options.function(&last.ident.to_string())
                }),
                _ => false,
            },
            Expr::MethodCall(call) => {
                let name = call.method.to_string();
                let keeps = ["as_ref", "as_mut", "take", "cloned", "copied", "filter", "map"];
                OPTIONS.contains(&name.as_str())
                    || self.options.function(&name)
                    || (keeps.contains(&name.as_str()) && self.makes_option(&call.receiver))
            }
            _ => false,
        }
    }
}

fn is_bool_or_rest(pattern: &Pat) -> bool {
    matches!(pattern, Pat::Wild(_)) || is_bool(pattern)
}

fn is_bool(pattern: &Pat) -> bool {
    matches!(pattern, Pat::Lit(literal) if matches!(literal.lit, Lit::Bool(_)))
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !item.attrs.iter().any(is_for_tests) {
            visit::visit_item_mod(self, item);
        }
    }
    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        if item.attrs.iter().any(is_for_tests) {
            return;
        }
        let of = item.trait_.as_ref().and_then(|(path, _)| path.segments.last());
        let outer = std::mem::replace(&mut self.in_from, of.is_some_and(|of| of.ident == "From"));
        visit::visit_item_impl(self, item);
        self.in_from = outer;
    }
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        if !item.attrs.iter().any(is_for_tests) {
            self.function(&item.sig, item, visit::visit_item_fn);
        }
    }
    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if !item.attrs.iter().any(is_for_tests) {
            self.function(&item.sig, item, visit::visit_impl_item_fn);
        }
    }
    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        self.function(&item.sig, item, visit::visit_trait_item_fn);
    }
    fn visit_local(&mut self, local: &'ast syn::Local) {
        if let Pat::Type(typed) = &local.pat
            && let Pat::Ident(name) = &*typed.pat
            && is_option(&typed.ty)
        {
            self.variables.insert(name.ident.to_string());
        }
        visit::visit_local(self, local);
    }
    fn visit_expr_match(&mut self, found: &'ast syn::ExprMatch) {
        // A guard is part of the pattern.
        let plain = |arm: &syn::Arm| is_bool_or_rest(&arm.pat);
        let one = found.arms.iter().any(|arm| is_bool(&arm.pat));
        if one && found.arms.len() == 2 && found.arms.iter().all(plain) {
            self.complain("a `match` on a bool");
        }
        visit::visit_expr_match(self, found);
    }
    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        if call.method == "for_each"
            && let Expr::MethodCall(iterator) = &*call.receiver
            && ["iter", "iter_mut", "into_iter"].iter().any(|name| iterator.method == name)
            && self.makes_option(&iterator.receiver)
        {
            self.complain("`for_each` on an `Option`");
        }
        visit::visit_expr_method_call(self, call);
    }
}

/// What the product code of crates holds of the three, for each file, with the functions in which
/// they stand.
fn habits(files: &[File]) -> BTreeMap<String, Vec<String>> {
    let mut crates: BTreeMap<&str, Vec<(&str, syn::File)>> = BTreeMap::new();
    // `x_tests.rs` is a module of tests.
    let product = |path: &str| !is_test_file(path) && !path.ends_with("_tests.rs");
    for File { path, text } in files.iter().filter(|file| product(&file.path)) {
        let parsed = syn::parse_file(text).unwrap_or_else(|error| panic!("{path}: {error}"));
        let package = path.split('/').nth(1).expect("a file of a crate");
        crates.entry(package).or_default().push((path, parsed));
    }
    let mut found = BTreeMap::new();
    for files in crates.values() {
        let mut options = Options::default();
        files.iter().for_each(|(_, parsed)| options.visit_file(parsed));
        for (path, parsed) in files {
            let mut reader = Reader::new(&options);
            reader.visit_file(parsed);
            found.insert(path.to_string(), reader.found);
        }
    }
    found
}

/// Where what is found and the list of known files part.
fn complaints(found: &BTreeMap<String, Vec<String>>, known: &[(&str, usize)]) -> Vec<String> {
    let known: BTreeMap<&str, usize> = known.iter().copied().collect();
    let mut complaints = Vec::new();
    for (path, habits) in found {
        let count = known.get(path.as_str()).copied().unwrap_or(0);
        if habits.len() > count {
            complaints.extend(habits.iter().map(|habit| format!("{path}: {habit}")));
        } else if habits.len() < count {
            complaints.push(format!("{path}: {} places, but {count} are known", habits.len()));
        }
    }
    let gone = known.keys().filter(|path| !found.contains_key(**path));
    complaints.extend(gone.map(|path| format!("{path}: known, but there is no such file")));
    complaints
}

#[test]
fn arguments_are_not_packed_and_choices_are_plain() {
    assert_none(complaints(&habits(&rust_files()), KNOWN));
}

/// What `code` holds.
fn of_code(path: &str, code: &str) -> Vec<String> {
    let files = [File { path: path.to_string(), text: code.to_string() }];
    habits(&files).into_values().flatten().collect()
}

/// How much of it.
fn seen(code: &str) -> usize {
    of_code("crates/x/src/y.rs", code).len()
}

#[test]
fn a_packed_parameter_is_seen() {
    assert_eq!(seen("fn f((a, b): (u8, u8), c: u8) {}"), 1);
    assert_eq!(seen("impl S { fn f(&self, (a, _): (u8, u8), (c, d): &(u8, u8)) {} }"), 2);
    assert_eq!(seen("trait T { fn f((a, b): (u8, u8)) {} }"), 1);
    assert_eq!(seen("impl T for S { fn f((a, b): (u8, u8)) {} }"), 1);
    assert_eq!(seen("fn g() { fn f((a, b): (u8, u8)) {} }"), 1);
    let of_f = of_code("crates/x/src/y.rs", "fn f((a, b): (u8, u8)) {}");
    assert_eq!(of_f, ["`f`: a parameter is a tuple pattern"]);
}

#[test]
fn a_pair_a_closure_a_test_and_from_are_free() {
    let free = [
        "fn f(range: (u64, u64)) {}",
        "fn f(Pair(a, b): Pair) {}",
        "fn f() { g(|(a, b)| a + b); g(|(a, b): (u8, u8)| a + b); }",
        "impl From<(u8, u8)> for S { fn from((a, b): (u8, u8)) -> S { S } }",
        "#[cfg(test)] mod tests { fn f((a, b): (u8, u8)) {} }",
        "#[cfg(test)] fn f((a, b): (u8, u8)) {}",
        "impl S { #[cfg(test)] fn f((a, b): (u8, u8)) {} }",
    ];
    for code in free {
        assert_eq!(seen(code), 0, "{code}");
    }
    for path in ["crates/x/tests/y.rs", "crates/x/src/y/tests.rs", "crates/x/src/y_tests.rs"] {
        assert_eq!(of_code(path, "fn f((a, b): (u8, u8)) {}"), [""; 0], "{path}");
    }
}

#[test]
fn a_match_on_a_flag_is_seen() {
    assert_eq!(seen("fn f() { match flag { true => a(), false => b() } }"), 1);
    assert_eq!(seen("fn f() { match a < b { false => {} _ => {} } }"), 1);
    assert_eq!(seen("const X: u8 = match FLAG { true => 1, false => 2 };"), 1);
    assert_eq!(
        seen("fn f() { g(|x| match x { true => match y { true => 1, _ => 2 }, _ => 3 }) }"),
        2
    );
    assert_eq!(seen("fn f() { match flag { true if x => a(), _ => b() } }"), 0);
    assert_eq!(seen("fn f() { match x { (true, _) => a(), _ => b() } }"), 0);
    assert_eq!(seen("fn f() { match x { Some(true) => a(), _ => b() } }"), 0);
}

#[test]
fn for_each_on_an_option_is_seen() {
    let bad = [
        "fn f() { Some(3).into_iter().for_each(g) }",
        "fn f(x: Option<u8>) { x.iter().for_each(g) }",
        "fn f(x: &mut Option<u8>) { x.iter_mut().for_each(g) }",
        "fn f() { let x: Option<u8> = y(); x.into_iter().for_each(g) }",
        "struct S { x: Option<u8> } impl S { fn f(&self) { self.x.iter().for_each(g) } }",
        "struct S { x: Option<u8> } fn f(s: S) { s.x.take().into_iter().for_each(g) }",
        "fn o() -> Option<u8> { None } fn f() { o().into_iter().for_each(g) }",
        "impl S { fn o(&self) -> Option<u8> { None } fn f(&self) { self.o().iter().for_each(g) } }",
        "fn f(x: &[u8]) { x.first().into_iter().for_each(g) }",
        "fn f(x: Option<u8>) { x.map(h).into_iter().for_each(g) }",
    ];
    for code in bad {
        assert_eq!(seen(code), 1, "{code}");
    }
    let free = [
        "fn f(x: Vec<u8>) { x.iter().for_each(g) }",
        "fn f(x: Option<u8>) {} fn h(x: Vec<u8>) { x.into_iter().for_each(g) }",
        "fn f(x: &[Option<u8>]) { x.iter().flatten().for_each(g) }",
        "fn f(x: Vec<u8>) { x.into_iter().map(h).for_each(g) }",
    ];
    for code in free {
        assert_eq!(seen(code), 0, "{code}");
    }
}

#[test]
fn a_field_of_another_file_is_known() {
    let of = |declared: &str| {
        let a = File { path: "crates/x/src/a.rs".to_string(), text: declared.to_string() };
        let text = "fn f(s: S) { s.x.iter().for_each(g) }".to_string();
        let b = File { path: "crates/x/src/b.rs".to_string(), text };
        habits(&[a, b]).into_values().flatten().count()
    };
    assert_eq!(of("struct S { x: Option<u8> }"), 1);
    assert_eq!(of("struct S { x: Option<u8> } struct Other { x: Vec<u8> }"), 0);
}

#[test]
fn a_known_file_may_neither_grow_nor_shrink() {
    let two = ["a", "b"].map(str::to_string).to_vec();
    let found = BTreeMap::from([("x.rs".to_string(), two)]);
    assert_eq!(complaints(&found, &[]), ["x.rs: a", "x.rs: b"]);
    assert_eq!(complaints(&found, &[("x.rs", 2)]).len(), 0);
    assert_eq!(complaints(&found, &[("x.rs", 1)]).len(), 2);
    assert_eq!(complaints(&found, &[("x.rs", 3)]).len(), 1);
    assert_eq!(complaints(&found, &[("x.rs", 2), ("gone.rs", 1)]).len(), 1);
}
