package import JSONText

/// A change, or a change that was rejected.
public struct AuditEntry: WireObject, Hashable {
    /// The ID, ascending in the order in which changes were recorded.
    public var id = ""
    /// The time of the change.
    public var at = Time(ms: 0)
    /// The name of the key.
    ///
    /// The key's ID follows in parentheses if the key is bound to accounts.
    ///
    /// `open` if the server has no keys, `configuration` for the server's file, `pollerd` for the system.
    public var by = ""
    /// The key's ID; `nil` for a key of the server's file, and without a key.
    public var key: String?
    /// The role of the key.
    public var role: Open<AccessKey.Role>?
    /// The peer address of the connection.
    public var address: String?
    /// The request ID, as in the response.
    public var request: String?
    /// The name of the operation in the OpenAPI description.
    public var action = ""
    /// The object that was changed.
    public var target = Target()
    /// The account; `nil` for a change to the whole cluster.
    public var account: String?
    /// The changed fields with their previous values, as a JSON object.
    package var beforeJSON: RawJSON?
    /// The same fields with their new values.
    package var afterJSON: RawJSON?
    /// The problem code of a rejected change; `nil` for a change that was applied.
    public var refused: String?

    /// The object of a change.
    public struct Target: WireObject, Hashable {
        /// The kind: `watch`, `endpoint`, `delivery`, `lane`, `key`, `order`, `suppression` or `store`.
        public var kind = ""
        /// The ID in the API.
        public var id = ""
        /// The name of the target at the time of the change; `nil` for a target without a name.
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

    /// The changed fields with their previous values, as JSON; `nil` for an object that did not exist.
    public var before: String? { beforeJSON?.description }
    /// The same fields with their new values; `nil` for an object that was deleted.
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
