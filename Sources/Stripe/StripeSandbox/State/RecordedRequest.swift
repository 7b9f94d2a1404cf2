/// One request to the API as it arrived.
struct RecordedRequest {
    let method: String
    let path: String
    let atMs: Int64
    let keySuffix: String
    let requestID: String
    /// What was answered; nil while it is held, 0 when the connection was cut instead.
    var status: Int?
}
