import Poller
import PollerIdentity

/// What one place of a configuration says.
struct Statement: Hashable, Sendable {
    let text: String
    /// Nobody is shown it.
    let isSecret: Bool
}

/// How two configurations differ, value by value, in words that hold no secret.
///
/// What both come to is compared, not how it is written: a key that moves from a variable into a file is the
/// same key, and a default that is written down is no change.
///
/// *Shape* of a line, as of diff(1): `+` what is added, `-` what is gone, `~` what is changed.
/// ```
/// + endpoints.audit
/// - accounts.old
/// ~ accounts.acme.stripe_api_key: another value
/// ~ lease: 12s is 20s, needs a restart
/// ```
struct ConfigurationDifference: Sendable {
    /// One difference.
    struct Change: Hashable, Sendable {
        /// What it is that has changed: `lease`, `endpoints.audit`, `upstreams.bank.rate`.
        let name: String
        /// As it is shown.
        let line: String
        /// A process that runs goes on as before.
        let needsRestart: Bool
    }

    /// Options first, in the order of their table, then the sections by name.
    let changes: [Change]

    init(from old: Configuration, to new: Configuration) {
        changes =
            Option.rows.compactMap { Self.change(of: $0, old.values, new.values) }
            + Self.changes(from: old.statements, to: new.statements)
    }

    /// What a running process does by at once.
    var atOnce: [Change] { changes.filter { !$0.needsRestart } }

    /// What it does by after its next start.
    var atRestart: [Change] { changes.filter(\.needsRestart) }

    private static func change(
        of option: Option,
        _ old: [String: Configuration.Value],
        _ new: [String: Configuration.Value]
    ) -> Change? {
        let (was, becomes) = (old[option.key]?.text, new[option.key]?.text)
        guard was != becomes else { return nil }
        func shown(_ text: String) -> String {
            let shown = Configuration.withoutPassword(text)
            return shown.isEmpty ? "nothing" : shown
        }
        let mark = was == nil ? "+" : becomes == nil ? "-" : "~"
        var words = ""
        if option.secrecy == .hidden {
            if mark == "~" { words = ": another value" }
        } else if let was, let becomes {
            // Of two URLs that differ in their password neither may show how.
            let isHidden = shown(was) == shown(becomes)
            words = isHidden ? ": another value" : ": \(shown(was)) is \(shown(becomes))"
        } else if let becomes {
            words = ": \(shown(becomes))"
        }
        let needsRestart = !option.isReloaded || isClosing(option, was, becomes)
        return Change(
            name: option.key,
            line: "\(mark) \(option.key)\(words)" + (needsRestart ? ", needs a restart" : ""),
            needsRestart: needsRestart
        )
    }

    /// Whether it is about what a listener is, and not only about what it shows or whom it knows.
    ///
    /// A listener that speaks plain HTTP stays so, and the other way round; and a file of keys, or the roots of
    /// clients' certificates, that is taken away might open a listener to everybody, which a start refuses where it must.
    private static func isClosing(_ option: Option, _ was: String?, _ becomes: String?) -> Bool {
        if ["api_keys_file", "admin_client_ca"].contains(option.key) { return becomes == nil }
        return option.key.contains("_tls_") && (was == nil) != (becomes == nil)
    }

    /// Of a URL what is no secret: a query may hold a key, and the path of an endpoint's, or a mailbox, is its
    /// receiver's own.
    private static func shown(_ statement: Statement, at path: [String]) -> String {
        let text = Configuration.withoutPassword(statement.text)
        guard path.count == 3, path[2] == "url" else { return text }
        if path[0] == "upstreams" {
            return text.firstIndex(of: "?").map { text[..<$0] + "?…" } ?? text
        }
        if text.hasPrefix("mailto:") {
            return "mailto:…" + (text.firstIndex(of: "@").map { text[$0...] } ?? "")
        }
        let parts = text.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
        guard parts.count > 2, text.hasPrefix("http") else { return text }
        return parts.prefix(3).joined(separator: "/") + (parts.count > 3 ? "/…" : "")
    }

    private static func changes(
        from old: [[String]: Statement],
        to new: [[String]: Statement]
    ) -> [Change] {
        // What is there by its name alone is told by its name alone.
        let names = (
            was: Set(old.keys.map { $0.prefix(2) }), now: Set(new.keys.map { $0.prefix(2) })
        )
        func line(_ mark: String, _ path: some Sequence<String>, _ words: String = "") -> Change {
            let name = path.joined(separator: ".")
            return Change(name: name, line: "\(mark) \(name)\(words)", needsRestart: false)
        }
        var changes = names.now.subtracting(names.was).map { line("+", $0) }
        changes += names.was.subtracting(names.now).map { line("-", $0) }
        let common = names.was.intersection(names.now)
        for path in Set(old.keys).union(new.keys) where common.contains(path.prefix(2)) {
            switch (old[path], new[path]) {
            case (let was?, let becomes?) where was.text != becomes.text:
                let (before, after) = (shown(was, at: path), shown(becomes, at: path))
                let isHidden = was.isSecret || becomes.isSecret || before == after
                let words = isHidden ? "another value" : "\(before) is \(after)"
                changes.append(line("~", path, ": \(words)"))
            case (nil, let added?):
                changes.append(line("+", path, added.isSecret ? "" : ": \(shown(added, at: path))"))
            case (_?, nil): changes.append(line("-", path))
            default: break
            }
        }
        return changes.sorted { ($0.name, $0.line) < ($1.name, $1.line) }
    }
}
