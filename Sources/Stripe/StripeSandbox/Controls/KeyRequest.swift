/// The body of `POST /_sandbox/keys`.
struct KeyRequest: Decodable {
    let key: String
    let account: String?
    /// Access by the name in the path (`sources`, `charges`, …); `*` for all others.
    let permissions: [String: KeyGrant.Access]?
    let expired: Bool?
}
