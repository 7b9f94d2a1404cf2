package import JSONText

/// Something that somebody has changed, or wanted to and was refused.
public struct AuditEntry: WireObject, Hashable {
    /// Ascending in the order in which changes were noted.
    public var id = ""
    /// When it was done.
    public var at = Time(ms: 0)
    /// The name of the key, of one bound to accounts with its id in parentheses; `open` without keys,
    /// `configuration` for the server's file, `pollerd` for the system itself.
    public var by = ""
    /// The key's id; nil for one of the server's file and where there is none.
    public var key: String?
    /// What the key's holder does.
    public var role: Open<AccessKey.Role>?
    /// The peer of the connection.
    public var address: String?
    /// The id of the request, as its answer had it.
    public var request: String?
    /// The operation, as the API's description names it.
    public var action = ""
    /// What was changed.
    public var target = Target()
    /// Whose it is; nil for what is of the whole cluster.
    public var account: String?
    /// The fields that changed, as they were: a JSON object.
    package var beforeJSON: RawJSON?
    /// The same fields afterwards.
    package var afterJSON: RawJSON?
    /// Why it was not done, by a problem's code; nil when it was.
    public var refused: String?

    /// A thing that was changed.
    public struct Target: WireObject, Hashable {
        /// `watch`, `endpoint`, `delivery`, `lane`, `key`, `order`, `suppression`, `store`.
        public var kind = ""
        /// As the API names it.
        public var id = ""
        /// The name of the target at the time of the change; nil for a target without a name.
        public var name: String?

        package init() {}

        package static let shape = Shape<Target> {
            Field("kind", \.kind)
            Field("id", \.id)
            Field(
                "name",
                \.name,
                note: "Its name at the time of the change; left out for what has none."
            )
        }
    }

    package init() {}

    /// The fields that changed, as they were, as JSON; nil for what was not there.
    public var before: String? { beforeJSON?.description }
    /// The same fields afterwards; nil for what is not there any more.
    public var after: String? { afterJSON?.description }

    package static let shape = Shape<AuditEntry>("AuditEntry") {
        Field("id", \.id, note: "Ascending in the order in which changes were noted.")
        Field("at", \.at)
        Field(
            "by",
            \.by,
            note: "The key's name, or its id; of a key that is bound to accounts the name and in "
                + "parentheses the id; open where there are no keys, configuration for the server's "
                + "file, pollerd for the system itself."
        )
        Field(
            "key",
            \.key,
            note: "Left out for keys of the server's file, and where there is none."
        )
        Field("role", \.role)
        Field("address", \.address, note: "The peer of the connection: a client or the last proxy.")
        Field("request", \.request, note: "As X-Request-Id of the answer had it.")
        Field("action", \.action, note: "The operation's name in this description.")
        Field("target", \.target)
        Field("account", \.account, note: "Left out for what is of the whole cluster.")
        Field(
            "before",
            \.beforeJSON,
            note:
                "An object of the fields that changed, as they were; left out for what was not there."
        )
        Field(
            "after",
            \.afterJSON,
            note: "The same fields now; left out for what is not there any more."
        )
        Field("refused", \.refused, note: "Why it was not done, by a problem's code.")
    }
}
