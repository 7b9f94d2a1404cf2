import PollerWatches

/// The descriptions of options for people.
extension Option {
    /// The entry in `check-config --describe`: purpose, names, default, and when a new value takes effect.
    var description: String {
        let standard = standard.map { $0.isEmpty ? "empty" : $0 } ?? "not set"
        let file = inFile.map { ", or a file with it: \($0.variable), \($0.flag)" } ?? ""
        return """
            \(key)
                \(help)
                \(variable), \(flag)\(file)
                default: \(standard)
                changes: \(isReloaded ? "while it runs" : "at a restart")
            """
    }

    /// Whether the key names a confidential option.
    ///
    /// In a file its value may be `{env: NAME}` or `{file: PATH}`.
    static func isSecret(_ key: String) -> Bool {
        all.contains { $0.key == key && $0.inFile != nil }
    }

    /// The descriptions of all options, without those that only name a file.
    static var descriptions: [String] { rows.map(\.description) }

    /// The full output of `check-config --describe`: options, members of the file's sections, and policies.
    static var reference: [String] {
        descriptions + FileMember.all.map(\.description) + PollPolicy.named.map(\.described)
    }
}

extension Option {
    /// The command-line flag, such as `--redis-url`.
    var flag: String { "--" + key.replacing("_", with: "-") }

    /// The option that names a file with this option's value, or `nil` for an option without secrets.
    var inFile: Option? {
        secrecy == .open
            ? nil
            : Option(
                "\(key)_file",
                "\(variable)_FILE",
                nil,
                isReloaded: isReloaded,
                "file that holds \(key)"
            )
    }

    /// Returns the option with this key.
    ///
    /// An unknown key is a programming error and ends the process.
    static func named(_ key: String) -> Option {
        guard let option = all.first(where: { $0.key == key }) else {
            preconditionFailure("there is no option \(key)")
        }
        return option
    }
}
