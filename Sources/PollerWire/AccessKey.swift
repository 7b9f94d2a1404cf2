/// A request to create an access key.
public struct NewAccessKey: WireObject, Hashable {
    /// The role of the key.
    public var role: Open<AccessKey.Role>?
    /// The display name.
    public var name: String?
    /// The accounts the key may access; `nil` for those of the creating key.
    public var accounts: [String]?
    /// Permissions beyond the role, such as `payments:charge`.
    public var allow: [String]?
    /// The lifetime; `nil` for a key that does not expire.
    public var expiresIn: Span?

    /// Creates an empty request.
    public init() {}

    package static let shape = Shape<NewAccessKey>(
        request: "NewAccessKey",
        "a key",
        mustBe: #"The body must be a key, an object such as {"role":"viewer"}"#,
        .keyword("required", #"["role"]"#)
    ) {
        Field("role", \.role, note: "What it may do: each role may do what those before it may.")
        Field("name", \.name, .length(1...64), note: "What people call it.")
        Field(
            "accounts",
            \.accounts,
            .size(1...50),
            .each(.accountID),
            note: "It sees nothing of others; when absent, the accounts of the key that makes it."
        )
        Field(
            "allow",
            \.allow,
            .size(0...30),
            .each(.pattern("^[a-z]+:[a-z]+$")),
            note: "What it may do beyond its role, such as payments:charge."
        )
        Field("expires_in", \.expiresIn, note: "1m to 3660d; never when absent.")
    }
}

/// An API key, its role and its permissions.
///
/// *Shape* (unknown fields are left out):
/// ```
/// {"id":"key_8sKx0mPq2LtZ","name":"support desk","role":"support","allow":[],"accounts":["acme"],
///  "created_at":"2026-11-20T09:30:00.125Z","created_by":"key_…","expires_at":"2027-02-18T…",
///  "last_used_at":"2026-11-20T09:31:00.000Z"}
/// ```
public struct AccessKey: WireObject, Hashable, CustomStringConvertible {
    /// The role of a key.
    ///
    /// Each role includes the permissions of the roles before it.
    public enum Role: String, Word {
        /// Reads everything and changes nothing.
        case viewer
        /// Helps payers: requests polls, submits verification codes, retries deliveries.
        case support
        /// Manages watches, endpoints, lanes and replays.
        case `operator`
        /// Charges payments, reads secrets and creates keys.
        case admin
    }

    /// The ID of the key.
    public var id = ""
    /// The key itself, present only in the response that created it.
    public var reveal: String?
    /// The display name.
    public var name: String?
    /// The role of the key.
    public var role = Open(Role.viewer)
    /// Permissions beyond the role.
    public var allow: [String] = []
    /// The accounts the key may access; `nil` for all.
    public var accounts: [String]?
    /// The creation time.
    public var createdAt = Time(ms: 0)
    /// The creator; `nil` if the creator belongs to other accounts.
    public var createdBy: String?
    /// The expiry time; `nil` for a key that does not expire.
    public var expiresAt: Time?
    /// The time of the last use, to the minute; `nil` if the key has not been used.
    public var lastUsedAt: Time?

    package init() {}

    /// A description for logs, without the key itself.
    public var description: String { "AccessKey(\(id))" }

    package static let shape = Shape<AccessKey>("AccessKey") {
        Field("id", \.id)
        Field(
            "key",
            \.reveal,
            note: "In the answer that made it and never again; send it as Authorization: Bearer …."
        )
        Field("name", \.name)
        Field("role", \.role)
        Field("allow", \.allow, note: "What it may do beyond its role.")
        Field("accounts", \.accounts, note: "Left out when it is bound to none.")
        Field("created_at", \.createdAt)
        Field("created_by", \.createdBy, note: "Left out when that is somebody of other accounts.")
        Field("expires_at", \.expiresAt, note: "Left out when it never ends.")
        Field("last_used_at", \.lastUsedAt, note: "To the minute; left out before the first use.")
    }
}
