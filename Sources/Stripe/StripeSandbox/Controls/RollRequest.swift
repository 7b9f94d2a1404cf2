/// The body of `POST /_sandbox/webhooks/roll`.
struct RollRequest: Decodable {
    let endpoint: String
    /// How long the old secret signs as well; a day at most, as at Stripe.
    let overlapSeconds: Int64?

    private enum CodingKeys: String, CodingKey {
        case endpoint
        case overlapSeconds = "overlap_seconds"
    }
}
