/// How far a redirect got.
public enum RedirectState: String, Hashable, Sendable {
    /// Nobody has been sent anywhere.
    case notStarted
    /// The customer is away.
    case inProgress
    /// Given up by the app; nobody is told.
    case cancelled
    /// The customer is back, or could not go.
    case completed
}
