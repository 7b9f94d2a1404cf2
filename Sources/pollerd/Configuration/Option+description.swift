import Poller

/// What people are told of options.
extension Option {
    /// What `check-config --describe` tells: what it is for, how it is named, what holds without it, and when
    /// another value does.
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

    /// Whether the key names an option that not everybody may see; in a file it may be `{env: NAME}` or
    /// `{file: PATH}`.
    static func isSecret(_ key: String) -> Bool {
        all.contains { $0.key == key && $0.inFile != nil }
    }

    /// Each option with what it is for, without those that only name a file.
    static var descriptions: [String] { rows.map(\.description) }

    /// All that `check-config --describe` tells: options, members of the file's sections, and policies.
    static var reference: [String] {
        descriptions + FileMember.all.map(\.description) + PollPolicy.named.map(\.described)
    }
}

extension Option {
    /// `--redis-url`.
    var flag: String { "--" + key.replacing("_", with: "-") }

    /// The option that names a file with this one's value; nil for what is no secret.
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

    /// Finds an option by its key; asking for one that does not exist is a mistake of ours.
    static func named(_ key: String) -> Option {
        guard let option = all.first(where: { $0.key == key }) else {
            preconditionFailure("there is no option \(key)")
        }
        return option
    }
}
