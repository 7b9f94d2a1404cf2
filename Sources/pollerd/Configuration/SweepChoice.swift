import Poller

/// How often the events of an account are read.
enum SweepChoice: Hashable, Sendable {
    /// As often as the account's read budget allows.
    case auto
    /// Never.
    case off
    /// Always so often.
    case every(Duration)

    /// Reads `auto`, `off`, or a span of 1 s to 1 d.
    init?(_ text: String) {
        switch text {
        case "auto": self = .auto
        case "off": self = .off
        default:
            guard let span = Duration(text: text), span >= .seconds(1), span <= .seconds(86_400)
            else { return nil }
            self = .every(span)
        }
    }
}
