public import ArgumentParser
public import PollerWire

/// A span as users write it: `250ms`, `90s`, `5m`, `36h`, `7d`.
extension Span: ExpressibleByArgument {
    /// Reads what stands on the command line; nil when it is no span.
    public init?(argument: String) { self.init(argument) }

    /// How a default is shown in the help.
    public var defaultValueDescription: String { "\(duration.components.seconds)s" }
}

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

extension Duration {
    /// The span for people, cut to one unit: `350 ms`, `42 s`, `7 min`, `3 h`, `2 d`.
    var shown: String {
        let seconds = components.seconds
        switch seconds {
        case 0: return "\(components.attoseconds / 1_000_000_000_000_000) ms"
        case ..<120: return "\(seconds) s"
        case ..<7200: return "\(seconds / 60) min"
        case ..<172_800: return "\(seconds / 3600) h"
        default: return "\(seconds / 86_400) d"
        }
    }
}
