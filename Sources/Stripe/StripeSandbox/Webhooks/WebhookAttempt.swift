/// One try to deliver an event, for `GET /_sandbox/webhooks/attempts`.
struct WebhookAttempt {
    let event: String
    let type: String
    let endpoint: String
    let attempt: Int
    /// The endpoint's answer; 0 when there was none, nil when the sandbox was told to lose it.
    let status: Int?
    let atMs: Int64
}
