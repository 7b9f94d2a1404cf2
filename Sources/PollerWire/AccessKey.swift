/// A key that somebody wants made.
public struct NewAccessKey: WireObject, Hashable {
    /// What its holder does.
    public var role: Open<AccessKey.Role>?
    /// What people call it.
    public var name: String?
    /// The accounts it is bound to; nil for those of its maker.
    public var accounts: [String]?
    /// What it may do beyond its role, such as `payments:charge`.
    public var allow: [String]?
    /// After what span it ends; nil for never.
    public var expiresIn: Span?

    /// A key for somebody.
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

/// A key of the API: who it is for, and what it may do.
///
/// *Shape* (what is not known is left out):
/// ```
/// {"id":"key_8sKx0mPq2LtZ","name":"support desk","role":"support","allow":[],"accounts":["acme"],
///  "created_at":"2026-11-20T09:30:00.125Z","created_by":"key_…","expires_at":"2027-02-18T…",
///  "last_used_at":"2026-11-20T09:31:00.000Z"}
/// ```
public struct AccessKey: WireObject, Hashable, CustomStringConvertible {
    /// What a key's holder does; each may do what the one before may.
    public enum Role: String, Word {
        /// Sees everything and changes nothing.
        case viewer
        /// Helps a payer: looks again, hands in codes, sends a delivery again.
        case support
        /// Runs the place: watches, endpoints, lanes, replays.
        case `operator`
        /// Charges, sees secrets and makes keys.
        case admin
    }

    /// What it is called by programs.
    public var id = ""
    /// The key itself, in the answer that made it and never again.
    public var reveal: String?
    /// What people call it.
    public var name: String?
    /// What its holder does.
    public var role = Open(Role.viewer)
    /// What it may do beyond its role.
    public var allow: [String] = []
    /// The accounts it is bound to; nil for all.
    public var accounts: [String]?
    /// When it was made.
    public var createdAt = Time(ms: 0)
    /// Who made it; nil when that is somebody of other accounts.
    public var createdBy: String?
    /// When it ends; nil for never.
    public var expiresAt: Time?
    /// When it was used last, to the minute; nil for never.
    public var lastUsedAt: Time?

    package init() {}

    /// Without the key itself, for logs.
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
