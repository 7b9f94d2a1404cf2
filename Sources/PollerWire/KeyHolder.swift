/// The owner of a key and its permissions.
///
/// *Shape*:
/// ```
/// {"name":"key_8sKx0mPq2LtZ support desk","scopes":["watches:poll","watches:read"],"accounts":["acme"]}
/// ```
public struct KeyHolder: WireObject, Hashable {
    /// The name in logs, which never contains the key.
    public var name = ""
    /// The permissions: the `x-scope` of each operation that the key may use.
    public var scopes: [String] = []
    /// The accounts the key may access; `nil` for all.
    public var accounts: [String]?
    /// The expiry time; `nil` for a key that does not expire.
    public var endsAt: Time?

    package init() {}

    package static let shape = Shape<KeyHolder>("Caller") {
        Field("name", \.name, note: "As logs name them.")
        Field("scopes", \.scopes, note: "The x-scope of the operations that the key may use.")
        Field("accounts", \.accounts, note: "Left out when it is bound to none.")
        Field("expires_at", \.endsAt, note: "Left out when it never ends.")
    }
}
