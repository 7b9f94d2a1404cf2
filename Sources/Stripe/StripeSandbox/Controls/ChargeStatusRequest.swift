/// The body of `POST /_sandbox/charges/{id}/status`.
struct ChargeStatusRequest: Decodable {
    /// `succeeded` or `failed`.
    let status: String
}
