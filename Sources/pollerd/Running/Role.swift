/// What a process does in a cluster.
enum Role: String, CaseIterable, Sendable {
    /// Serves the HTTP API.
    case api
    /// Polls sources.
    case worker
    /// Delivers events: webhooks, mails, and the WebSocket gateway.
    case notifier
}
