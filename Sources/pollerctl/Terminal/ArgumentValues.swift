public import ArgumentParser
public import PollerWire

/// A duration on a command line: `250ms`, `90s`, `5m`, `36h`, `7d`.
extension Span: ExpressibleByArgument {
    /// Parses a duration; returns `nil` for other text.
    public init?(argument: String) { self.init(argument) }

    /// The default as the help shows it.
    public var defaultValueDescription: String { "\(duration.components.seconds)s" }
}

/// The signature scheme of webhooks on a command line.
extension Endpoint.Signing: ExpressibleByArgument {}

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

/// A W3C `traceparent` on a command line.
///
/// The server ignores an invalid one rather than reject a payment. The command reports it instead.
/// *Source*: <https://www.w3.org/TR/trace-context-2/#traceparent-header>
enum Traceparent {
    /// Returns the text, or throws `ValidationError` if the server would ignore it.
    static func checked(_ text: String) throws -> String {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        let digits = Set("0123456789abcdef".utf8)
        // Later versions may append parts; the first four are as in version 00.
        guard parts.count == 4 || parts.count > 4 && parts[0] != "00",
            zip(parts, [2, 32, 16, 2]).allSatisfy({
                $0.utf8.count == $1 && $0.utf8.allSatisfy(digits.contains)
            }),
            parts[0] != "ff", parts[1...2].allSatisfy({ $0.contains { $0 != "0" } })
        else {
            throw ValidationError(
                "invalid traceparent. Use 00-TRACE-SPAN-FLAGS with 2, 32, 16 and 2 lower-case "
                    + "hexadecimal digits, TRACE and SPAN not all 0, such as "
                    + "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01, or leave it out."
            )
        }
        return text
    }
}

extension [NameValue] {
    /// The values by name; the last value of a repeated name wins.
    var dictionary: [String: String] {
        Dictionary(map { ($0.name, $0.value) }) { _, last in last }
    }
}

extension Duration {
    /// The duration for display, truncated to one unit: `350 ms`, `42 s`, `7 min`, `3 h`, `2 d`.
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
