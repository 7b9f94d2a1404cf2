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
        Field("role", \.role)
            .note("The key's role. Each role includes the permissions of the roles before it.")
        Field("name", \.name, .length(1...64)).note("A display name.")
        Field("accounts", \.accounts, .size(1...50), .each(.accountID))
            .note(
                "The accounts the key may access. Defaults to the accounts of the key that creates "
                    + "it."
            )
        Field("allow", \.allow, .size(0...30), .each(.pattern("^[a-z]+:[a-z]+$")))
            .note("Permissions in addition to the role's, such as payments:charge.")
        Field("expires_in", \.expiresIn)
            .note("The lifetime, 1m to 3660d. Absent: the key does not expire.")
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
        Field("key", \.reveal)
            .note(
                "The key's value, only in the response that created it. Send it as Authorization: "
                    + "Bearer …."
            )
        Field("name", \.name)
        Field("role", \.role)
        Field("allow", \.allow).note("Permissions in addition to the role's.")
        Field("accounts", \.accounts).note("Left out if the key may access all accounts.")
        Field("created_at", \.createdAt)
        Field("created_by", \.createdBy)
            .note("The creator. Left out if it is a key of another account.")
        Field("expires_at", \.expiresAt)
            .note("The expiry time. Left out if the key does not expire.")
        Field("last_used_at", \.lastUsedAt)
            .note("The last use, to the minute. Left out before the first use.")
    }
}
