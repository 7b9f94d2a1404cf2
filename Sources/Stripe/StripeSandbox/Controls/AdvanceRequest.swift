/// The body of `POST /_sandbox/clock/advance`.
struct AdvanceRequest: Decodable {
    /// Sandbox seconds to skip.
    let seconds: Double
}
