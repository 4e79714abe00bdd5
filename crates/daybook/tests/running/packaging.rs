//! The Debian package, installed and upgraded unattended: the operator's settings stay, and no question is shown.
//!
//! It is installed for real, by `dpkg`, where nothing of the machine is changed: in a mount namespace of its own, with layers over
//! the folders that it writes to. That needs root.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// Runs a script in a mount namespace in which `/etc`, `/usr` and `/var` may be written and are as they were afterwards.
/// Returns `None` if this user may not create one.
fn apart(folder: &Path, script: &str) -> Option<Output> {
    let layers = r#"
        set -eu
        mkdir layers && mount -t tmpfs tmpfs layers || exit 77
        for part in etc usr var; do
            mkdir -p layers/$part/upper layers/$part/work
            options="lowerdir=/$part,upperdir=$PWD/layers/$part/upper,workdir=$PWD/layers/$part/work"
            mount -t overlay overlay -o "$options" /$part || exit 77
        done
        echo 'daybook:x:4711:4711::/var/lib/daybook:/bin/false' >>/etc/passwd
        echo 'daybook:x:4711:' >>/etc/group
        export DEBIAN_FRONTEND=noninteractive PATH=/usr/sbin:/usr/bin:/sbin:/bin
    "#;
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "private", "bash", "-c", &format!("{layers}\n{script}")]);
    let output = command.current_dir(folder).output().ok()?;
    let may_not = String::from_utf8_lossy(&output.stderr).contains("unshare failed");
    let is_allowed = output.status.code() != Some(77) && !may_not;
    if !is_allowed {
        eprintln!("skipped: no file systems may be mounted here");
    }
    is_allowed.then_some(output)
}

/// Makes a package with these settings. What is in it otherwise does not matter here.
fn package(folder: &Path, version: &str, settings: &str) {
    let root = folder.join(version);
    fs::create_dir_all(root.join("usr/bin")).expect("a folder");
    fs::create_dir_all(root.join("etc/daybook")).expect("a folder");
    fs::write(root.join("usr/bin/daybook"), "#!/bin/sh\n").expect("a file");
    fs::write(root.join("etc/daybook/daybook.toml"), settings).expect("a file");
    let tool = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools/debian-package");
    let file = folder.join(format!("{version}.deb"));
    let made = Command::new(tool).arg(&root).args([version, "libc6"]).arg(file).output().expect("it runs");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
}

#[test]
fn an_unattended_upgrade_keeps_the_settings_and_asks_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    package(folder.path(), "1.0", "listen = \"127.0.0.1:1\"\n");
    package(folder.path(), "2.0", "listen = \"127.0.0.1:2\"\n");
    let script = r#"
        settings=/etc/daybook/daybook.toml
        dpkg --force-depends --install 1.0.deb </dev/null
        grep --quiet 127.0.0.1:1 $settings
        echo '# mine' >>$settings
        dpkg --force-depends --install 2.0.deb </dev/null
        dpkg-query --show --showformat '${Version} ${Status}\n' daybook
        cat $settings
        ls /etc/daybook
        dpkg --force-depends --purge daybook </dev/null
        ls /etc/daybook || echo purged
    "#;
    let Some(output) = apart(folder.path(), script) else { return };
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    let kept = "2.0 install ok installed\nlisten = \"127.0.0.1:1\"\n# mine\ndaybook.toml\nenvironment\n";
    assert!(said.contains(kept) && said.ends_with("purged\n"), "{said}");
}

/// Packages before this one had the settings as a file that dpkg asks about.
#[test]
fn an_upgrade_from_a_package_that_asked_keeps_the_settings() {
    let folder = tempfile::tempdir().expect("a folder");
    package(folder.path(), "2.0", "listen = \"127.0.0.1:2\"\n");
    let script = r#"
        mkdir -p old/DEBIAN old/etc/daybook
        printf 'Package: daybook\nVersion: 1.0\nArchitecture: all\nMaintainer: x\nDescription: x\n' >old/DEBIAN/control
        echo /etc/daybook/daybook.toml >old/DEBIAN/conffiles
        echo 'listen = "127.0.0.1:1"' >old/etc/daybook/daybook.toml
        dpkg-deb --root-owner-group --build old 1.0.deb >/dev/null
        dpkg --install 1.0.deb </dev/null
        echo '# mine' >>/etc/daybook/daybook.toml
        dpkg --force-depends --install 2.0.deb </dev/null
        cat /etc/daybook/daybook.toml
    "#;
    let Some(output) = apart(folder.path(), script) else { return };
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.ends_with("listen = \"127.0.0.1:1\"\n# mine\n"), "{said}");
}
