/// The body of `POST /_sandbox/webhooks/resend`.
struct ResendRequest: Decodable {
    let event: String
    /// All that accept it when absent.
    let endpoint: String?
}
