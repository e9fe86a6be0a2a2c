//! A page in headless Chromium, and what its elements say afterwards.

use forebay_prerequisites::program;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

/// What a page became after its scripts ran.
pub struct Dom {
    text: String,
}

/// Open `page` in Chromium with `script` run at its end. None where there is no Chromium.
#[track_caller]
pub fn open(page: &Path, script: &str) -> Option<Dom> {
    let text = fs::read_to_string(page).unwrap();
    let ended = text.replace("</body>", &format!("<script>{script}</script></body>"));
    assert_ne!(text, ended, "the page has an end");
    open_text(&ended)
}

/// Open `page` in a frame that is `width` pixels wide, as no window of Chromium is below 500, and
/// run `script` when its plots are there; `inner` is the document in the frame.
#[track_caller]
pub fn open_in_frame(page: &Path, width: u32, script: &str) -> Option<Dom> {
    let text = fs::read_to_string(page).unwrap();
    let quoted = text.replace('&', "&amp;").replace('"', "&quot;");
    open_text(&format!(
        "<!doctype html><html><body><iframe style='border:0;width:{width}px;height:900px' \
         srcdoc=\"{quoted}\"></iframe><script>setTimeout(() => {{ \
         const inner = document.querySelector('iframe').contentDocument; {script} }}, 1500)\
         </script></body></html>"
    ))
}

#[track_caller]
fn open_text(text: &str) -> Option<Dom> {
    let chromium = program(&["chromium", "chromium-browser", "google-chrome"])?;
    let scratch = tempfile::tempdir().unwrap();
    let copy = scratch.path().join("page.html");
    fs::write(&copy, text).unwrap();
    let mut command = Command::new(chromium);
    command.args([
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-background-networking",
    ]);
    command.args(["--disable-dev-shm-usage", "--virtual-time-budget=4000"]);
    command.arg("--window-size=1280,900");
    command.arg(format!("--user-data-dir={}", scratch.path().join("profile").display()));
    let output = command.arg("--dump-dom").arg(format!("file://{}", copy.display())).output();
    let output = output.unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    Some(Dom { text: String::from_utf8(output.stdout).unwrap() })
}

impl Dom {
    /// The value of `attribute` of the root.
    pub fn root(&self, attribute: &str) -> Option<&str> {
        let root = self.text.split_once("<html")?.1.split_once('>')?.0;
        attribute_of(root, attribute)
    }
    /// The plots, by name.
    pub fn plots(&self) -> BTreeMap<&str, &str> {
        let figures = self.text.split("<figure ").skip(1);
        let tags = figures.filter_map(|figure| Some(figure.split_once('>')?.0));
        tags.filter_map(|tag| Some((attribute_of(tag, "data-plot")?, tag))).collect()
    }
    /// All that it says.
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// The value of an attribute in a tag as Chromium writes it.
pub fn attribute_of<'a>(tag: &'a str, attribute: &str) -> Option<&'a str> {
    let (_, after) = tag.split_once(&format!("{attribute}=\""))?;
    Some(after.split_once('"')?.0)
}

/// The same as a number.
pub fn number_of(tag: &str, attribute: &str) -> f64 {
    let value = attribute_of(tag, attribute);
    let value = value.unwrap_or_else(|| panic!("no {attribute} in {tag}"));
    value.parse().unwrap_or_else(|_| panic!("{attribute} in {tag}"))
}
