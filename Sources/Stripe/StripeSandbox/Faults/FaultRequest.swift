import StripeAPI

/// The body of `POST /_sandbox/faults`.
struct FaultRequest: Decodable {
    /// The beginning of the paths it applies to.
    let match: String
    let mode: FaultMode
    /// Only requests with this method.
    let method: String?
    let status: Int?
    let headers: [String: String]?
    /// A text is sent as it is, anything else as JSON.
    let body: JSONValue?
    let delayMs: Int?
    let bytes: Int?
    /// How many requests it applies to; until deleted when absent.
    let times: Int?
    /// Whether the request takes effect before the fault strikes: a lost answer instead of a lost request.
    let after: Bool?
    /// Whether a `status` answer is kept for the idempotency key, as Stripe keeps a 500 once execution began.
    let isStored: Bool?

    private enum CodingKeys: String, CodingKey {
        case match, mode, method, status, headers, body, bytes, times, after
        case delayMs = "delay_ms"
        case isStored = "store"
    }
}
