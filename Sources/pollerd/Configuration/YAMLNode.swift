import Poller
import PollerIdentity
import SafeNumbers
import SecretFiles
import Yams

/// A part of the configuration file, with its place for messages; its readers accept nothing
/// they do not know.
struct YAMLNode {
    /// `poller.yaml: upstreams.bank`.
    let place: String
    private let node: Yams.Node
    private let secrets: SecretReader

    init(_ node: Yams.Node, at place: String, _ secrets: SecretReader) {
        self.node = node
        self.place = place
        self.secrets = secrets
    }

    /// Refuses what a part of the file has no member for; see ``FileMember``.
    func checkMembers(of parent: String) throws(ConfigurationError) {
        _ = try members(allowed: FileMember.names(of: parent))
    }

    /// The named parts of a mapping.
    ///
    /// - Parameter allowed: the names there may be; nil for any.
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
            members.append((name, YAMLNode(value, at: "\(place).\(name)", secrets)))
        }
        return members
    }

    /// A part of a mapping; nil when it is not there.
    func member(_ name: String) -> YAMLNode? {
        node.mapping?[name].map { YAMLNode($0, at: "\(place).\(name)", secrets) }
    }

    /// A part that must be there.
    func required(_ name: String) throws(ConfigurationError) -> YAMLNode {
        guard let member = member(name) else { throw wrong("needs \(name)") }
        return member
    }

    /// A plain value.
    func text() throws(ConfigurationError) -> String {
        guard let scalar = node.scalar, !scalar.string.isEmpty else { throw wrong("has no value") }
        // YAML 1.2 §10.3.2; whoever means the word quotes it.
        if scalar.style == .plain, ["~", "null", "Null", "NULL"].contains(scalar.string) {
            throw wrong("has no value; if the word is meant, write \"\(scalar.string)\"")
        }
        return scalar.string
    }

    /// One plain value or a list of them.
    func texts() throws(ConfigurationError) -> [String] {
        guard let sequence = node.sequence else { return [try text()] }
        var texts: [String] = []
        for item in sequence {
            texts.append(try YAMLNode(item, at: place, secrets).text())
        }
        return texts
    }

    /// A whole number in a range.
    func count(_ range: ClosedRange<Int>) throws(ConfigurationError) -> Int {
        guard let count = Int(safe: try text()), range.contains(count) else {
            throw wrong(
                "must be a whole number from \(range.lowerBound) to \(range.upperBound)"
            )
        }
        return count
    }

    /// A value that is kept out of the file: `{env: NAME}` or `{file: /path}`, with an optional
    /// `prefix`.
    ///
    /// - Parameter isPlainAllowed: whether the value may also be written as it is.
    /// - Returns: the value, its prefix before it.
    /// - Throws: ``ConfigurationError`` when it cannot be had.
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
            value = try secrets.contents(of: path, for: "\(place).file")
        } else {
            throw wrong("needs env or file")
        }
        return (prefix ?? "") + value
    }

    /// Runs a check of the domain and says where it failed.
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
        ConfigurationError("\(place) \(what)", line: node.mark?.line)
    }

    /// Every value here and below, by its place: `[accounts, acme, stripe_api_key]`.
    ///
    /// What cannot be read is left out; whoever reads the section has said so.
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
