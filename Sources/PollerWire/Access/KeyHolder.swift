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
        Field("name", \.name).note("The name that logs show.")
        Field("scopes", \.scopes).note("The x-scope values of the operations that the key may use.")
        Field("accounts", \.accounts).note("Left out if the key may access all accounts.")
        Field("expires_at", \.endsAt).note("Left out if the key does not expire.")
    }
}
