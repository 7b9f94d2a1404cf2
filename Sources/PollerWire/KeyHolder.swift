/// Whom a key belongs to, and what it may do.
///
/// *Shape*:
/// ```
/// {"name":"key_8sKx0mPq2LtZ support desk","scopes":["watches:poll","watches:read"],"accounts":["acme"]}
/// ```
public struct KeyHolder: WireObject, Hashable {
    /// As logs name them; never the key.
    public var name = ""
    /// What it may do: the `x-scope` of the operations it may use.
    public var scopes: [String] = []
    /// The accounts it is bound to; nil for all.
    public var accounts: [String]?
    /// When the key ends; nil for never.
    public var endsAt: Time?

    package init() {}

    package static let shape = Shape<KeyHolder>("Caller") {
        Field("name", \.name, note: "As logs name them.")
        Field("scopes", \.scopes, note: "The x-scope of the operations that the key may use.")
        Field("accounts", \.accounts, note: "Left out when it is bound to none.")
        Field("expires_at", \.endsAt, note: "Left out when it never ends.")
    }
}
