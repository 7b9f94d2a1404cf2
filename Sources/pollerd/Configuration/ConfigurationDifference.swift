import PollerIdentity

/// The value at one path of a configuration.
struct Statement: Hashable, Sendable {
    let text: String
    /// Whether the value must not be shown.
    let isSecret: Bool
}

/// The differences between two configurations, value by value, without secrets.
///
/// The effective values are compared, not their notation. A key that moves from a variable into a file is the same key.
/// A default that is written down is no change.
///
/// *Shape* of a line, as in diff(1): `+` for added, `-` for removed, `~` for changed.
/// ```
/// + endpoints.audit
/// - accounts.old
/// ~ accounts.acme.stripe_api_key: another value
/// ~ lease: 12s is 20s, needs a restart
/// ```
struct ConfigurationDifference: Sendable {
    struct Change: Hashable, Sendable {
        /// The changed option or member: `lease`, `endpoints.audit`, `upstreams.bank.rate`.
        let name: String
        /// The line for people.
        let line: String
        /// Whether a running process keeps the old value until it restarts.
        let needsRestart: Bool
    }

    /// The changes: options first, in the order of their table, then the sections by name.
    let changes: [Change]

    init(from old: Configuration, to new: Configuration) {
        changes =
            Option.rows.compactMap { Self.change(of: $0, old.values, new.values) }
            + Self.changes(from: old.statements, to: new.statements)
    }

    /// The changes that a running process applies at once.
    var atOnce: [Change] { changes.filter { !$0.needsRestart } }

    /// The changes that a process applies at its next start.
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
            if mark == "~" { words = ": changed" }
        } else if let was, let becomes {
            // Two URLs that differ only in the password must not show either.
            let isHidden = shown(was) == shown(becomes)
            words = isHidden ? ": changed" : ": \(shown(was)) is \(shown(becomes))"
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

    /// Whether the change would turn TLS on or off, or remove the API keys or the client CA of a listener.
    ///
    /// A running process does not follow such a change. A listener that uses plain HTTP stays so, and one with TLS too.
    /// Without the key file or the client CA, a listener might become open to all clients. The change applies at the
    /// next start, which rejects it if the listener must not be open.
    private static func isClosing(_ option: Option, _ was: String?, _ becomes: String?) -> Bool {
        if ["api_keys_file", "admin_client_ca"].contains(option.key) { return becomes == nil }
        return option.key.contains("_tls_") && (was == nil) != (becomes == nil)
    }

    /// The value without the secret parts of a URL.
    ///
    /// The query of an upstream's URL may hold a key. The path of an endpoint's URL and the mailbox of a mail address
    /// are private to the recipient.
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
        // A section member that is added or removed as a whole is reported by its name alone.
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
                let words = isHidden ? "changed" : "\(before) is \(after)"
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
