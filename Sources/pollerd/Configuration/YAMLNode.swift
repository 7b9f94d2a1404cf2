import PollerIdentity
import SafeNumbers
import SecretFiles
import Yams

/// A part of the configuration file with its path for messages.
///
/// Its readers reject unknown content.
struct YAMLNode {
    /// The path in messages, such as `poller.yaml: upstreams.bank`.
    let messagePath: String
    private let node: Yams.Node
    private let secrets: SecretReader

    init(_ node: Yams.Node, at messagePath: String, _ secrets: SecretReader) {
        self.node = node
        self.messagePath = messagePath
        self.secrets = secrets
    }

    /// Rejects members that ``FileMember`` does not list for this part of the file.
    func checkMembers(of parent: String) throws(ConfigurationError) {
        _ = try members(allowed: FileMember.names(of: parent))
    }

    /// Returns the named parts of a mapping.
    ///
    /// - Parameter allowed: the allowed names, or `nil` for any.
    /// - Returns: names and parts, in the order of the file.
    /// - Throws: ``ConfigurationError`` for anything but a mapping of these names.
    func members(
        allowed: Set<String>? = nil
    ) throws(ConfigurationError) -> [(name: String, value: YAMLNode)] {
        guard let mapping = node.mapping else { throw wrong("must be a mapping of names") }
        var members: [(String, YAMLNode)] = []
        for (key, value) in mapping {
            guard let name = key.string, allowed?.contains(name) ?? true else {
                throw wrong(
                    "has \(key.string ?? "a key"), which is not one of "
                        + (allowed ?? []).sorted().joined(separator: ", ")
                )
            }
            members.append((name, YAMLNode(value, at: "\(messagePath).\(name)", secrets)))
        }
        return members
    }

    /// Returns a part of a mapping, or `nil` if it is missing.
    func member(_ name: String) -> YAMLNode? {
        node.mapping?[name].map { YAMLNode($0, at: "\(messagePath).\(name)", secrets) }
    }

    /// Returns a required part.
    func required(_ name: String) throws(ConfigurationError) -> YAMLNode {
        guard let member = member(name) else { throw wrong("needs \(name)") }
        return member
    }

    /// Returns a plain value.
    func text() throws(ConfigurationError) -> String {
        guard let scalar = node.scalar, !scalar.string.isEmpty else { throw wrong("has no value") }
        // An unquoted null (YAML 1.2 §10.3.2). The literal word needs quotes.
        if scalar.style == .plain, ["~", "null", "Null", "NULL"].contains(scalar.string) {
            throw wrong("has no value; for the text, write \"\(scalar.string)\"")
        }
        return scalar.string
    }

    /// Returns one plain value or a list of them.
    func texts() throws(ConfigurationError) -> [String] {
        guard let sequence = node.sequence else { return [try text()] }
        var texts: [String] = []
        for item in sequence {
            texts.append(try YAMLNode(item, at: messagePath, secrets).text())
        }
        return texts
    }

    /// Returns a whole number in a range.
    func count(_ range: ClosedRange<Int>) throws(ConfigurationError) -> Int {
        guard let count = Int(safe: try text()), range.contains(count) else {
            throw wrong(
                "must be a whole number from \(range.lowerBound) to \(range.upperBound)"
            )
        }
        return count
    }

    /// Reads a value that is stored outside the file: `{env: NAME}` or `{file: /path}`, with an optional `prefix`.
    ///
    /// - Parameter isPlainAllowed: whether the value may also be written in the file.
    /// - Returns: the value with its prefix.
    /// - Throws: ``ConfigurationError`` if the value is not available.
    func secret(isPlainAllowed: Bool = false) throws(ConfigurationError) -> String {
        guard node.mapping != nil else {
            guard isPlainAllowed else {
                throw wrong("is a secret: write {env: NAME} or {file: /path}")
            }
            return try text()
        }
        _ = try members(allowed: ["env", "file", "prefix"])
        let prefix = try member("prefix").map { node throws(ConfigurationError) in
            try node.text()
        }
        let value: String
        if let name = try member("env")?.text() {
            guard let found = secrets.variable(name) else {
                throw wrong("needs the environment variable \(name), which is not set")
            }
            if let objection = WrittenValue.problem(in: found) {
                throw wrong("takes the environment variable \(name), which \(objection)")
            }
            value = found
        } else if let path = try member("file")?.text() {
            value = try secrets.contents(of: path, for: "\(messagePath).file")
        } else {
            throw wrong("needs env or file")
        }
        return (prefix ?? "") + value
    }

    /// Runs a check of the domain and adds the path to its error.
    func checked<Value>(
        _ check: () throws(InvalidInput) -> Value
    ) throws(ConfigurationError) -> Value {
        do throws(InvalidInput) {
            return try check()
        } catch {
            throw wrong("\(error.field) \(error.message)")
        }
    }

    func wrong(_ what: String) -> ConfigurationError {
        ConfigurationError("\(messagePath) \(what)", line: node.mark?.line)
    }

    /// Returns every value here and below, by its path: `[accounts, acme, stripe_api_key]`.
    ///
    /// Unreadable values are left out, because the section's reader has reported them.
    func statements(_ path: [String]) -> [[String]: Statement] {
        let isSecret = FileMember.isSecret(path)
        if let text = node.scalar?.string {
            return [path: Statement(text: text, isSecret: isSecret)]
        }
        if isSecret, let text = try? secret() {
            return [path: Statement(text: text, isSecret: true)]
        }
        if let list = try? texts() {
            return [path: Statement(text: list.joined(separator: ", "), isSecret: isSecret)]
        }
        return ((try? members()) ?? []).reduce(into: [:]) { found, member in
            found.merge(member.value.statements(path + [member.name])) { $1 }
        }
    }
}
