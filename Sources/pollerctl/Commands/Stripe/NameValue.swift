import ArgumentParser

/// `NAME=VALUE` on a command line.
struct NameValue: ExpressibleByArgument {
    let name: String
    let value: String

    init?(argument: String) {
        let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[0].isEmpty else { return nil }
        name = String(parts[0])
        value = String(parts[1])
    }
}

extension [NameValue] {
    /// The values by name; the last one of a name counts.
    var dictionary: [String: String] {
        Dictionary(map { ($0.name, $0.value) }) { _, last in last }
    }
}
