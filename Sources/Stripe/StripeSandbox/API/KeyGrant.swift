/// What a test gave a key: an account, permissions, or an end.
struct KeyGrant {
    /// What a restricted key may do with one resource.
    enum Access: String, Decodable {
        case none, read, write
    }

    /// The account the key belongs to; nil is the platform's own.
    var account: String?
    /// Access by the name in the path (`sources`, `charges`, …); `*` for all others, else none.
    var permissions: [String: Access]?
    /// Whether the key was rolled and no longer works.
    var isExpired = false

    func access(to resource: Substring) -> Access {
        guard let permissions else { return .write }
        // Stripe has one permission for charges and refunds.
        let name = resource == "refunds" ? "charges" : String(resource)
        return permissions[name] ?? permissions["*"] ?? .none
    }
}
