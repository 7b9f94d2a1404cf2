/// Why a call to the server failed.
public enum PollerError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The client was given something it cannot work with.
    case invalidConfiguration(String)
    /// No answer: refused, unknown host, timeout, cut off. Whether a request took effect is
    /// unknown; every request may be repeated.
    case unreachable(url: String, reason: String)
    /// The server answered with a problem.
    case problem(PollerProblem)
    /// Whoever answered is not a poller, or one this client does not understand.
    case unintelligible(String)

    /// Whether the same request may work in a moment.
    public var isTransient: Bool {
        switch self {
        case .unreachable: true
        case .problem(let problem): [408, 429, 502, 503, 504].contains(problem.status)
        case .invalidConfiguration, .unintelligible: false
        }
    }

    /// What the server wants to be left alone for.
    public var retryAfter: Duration? {
        guard case .problem(let problem) = self else { return nil }
        return problem.retryAfter
    }

    /// One or two sentences for people.
    public var description: String {
        switch self {
        case .invalidConfiguration(let reason): reason
        case .unreachable(let url, let reason): "no answer from \(url): \(reason)"
        case .problem(let problem): problem.description
        case .unintelligible(let reason): reason
        }
    }
}
