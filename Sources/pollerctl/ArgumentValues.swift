public import ArgumentParser
public import PollerWire

/// A span as users write it: `250ms`, `90s`, `5m`, `36h`, `7d`.
extension Span: ExpressibleByArgument {
    /// Reads what stands on the command line; nil when it is no span.
    public init?(argument: String) { self.init(argument) }

    /// How a default is shown in the help.
    public var defaultValueDescription: String { "\(duration.components.seconds)s" }
}

/// How webhooks are signed, as users write it.
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

/// A place in a trace on a command line, in the form of W3C Trace Context.
///
/// The server ignores what is none, since a payment is not refused for that; who types one wants to know.
/// *Source*: <https://www.w3.org/TR/trace-context-2/#traceparent-header>
enum Traceparent {
    /// The text; errors: `ValidationError` where the server would ignore it.
    static func checked(_ text: String) throws -> String {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        let digits = Set("0123456789abcdef".utf8)
        // Of later versions the parts of this one count, whatever follows.
        guard parts.count == 4 || parts.count > 4 && parts[0] != "00",
            zip(parts, [2, 32, 16, 2]).allSatisfy({
                $0.utf8.count == $1 && $0.utf8.allSatisfy(digits.contains)
            }),
            parts[0] != "ff", parts[1...2].allSatisfy({ $0.contains { $0 != "0" } })
        else {
            throw ValidationError(
                "it is ignored. Give 00-TRACE-SPAN-FLAGS of 2, 32, 16 and 2 hexadecimal digits in "
                    + "lower case, TRACE and SPAN not all 0, as in "
                    + "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01, or leave it out."
            )
        }
        return text
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
