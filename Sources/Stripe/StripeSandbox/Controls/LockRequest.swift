/// The body of `POST /_sandbox/locks`.
struct LockRequest: Decodable {
    /// The object another request is working on.
    let id: String
    /// How long; until unlocked when absent.
    let ms: Int64?
    /// Whether reads wait too.
    let reads: Bool?
}
