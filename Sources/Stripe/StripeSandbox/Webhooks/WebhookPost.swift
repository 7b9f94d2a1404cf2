/// What is posted to an endpoint now.
struct WebhookPost: Sendable {
    /// The delivery it is a try of.
    let delivery: Int
    let url: String
    /// One, or two while a secret is rolled.
    let secrets: [String]
    let body: [UInt8]
}
