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
        /// The kind: `watch`, `endpoint`, `delivery`, `lane`, `key`, `suppression`, `entry` or `store`.
        public var kind = ""
        /// The ID in the API.
        public var id = ""
        /// The name of the target at the time of the change; `nil` for a target without a name.
        public var name: String?

        package init() {}

        package static let shape = Shape<Target> {
            Field("kind", \.kind)
            Field("id", \.id)
            Field("name", \.name)
                .note("The target's name at the time of the change. Left out if it has none.")
        }
    }

    package init() {}

    /// The changed fields with their previous values, as JSON; `nil` for an object that did not exist.
    public var before: String? { beforeJSON?.description }
    /// The same fields with their new values; `nil` for an object that was deleted.
    public var after: String? { afterJSON?.description }

    package static let shape = Shape<AuditEntry>("AuditEntry") {
        Field("id", \.id).note("Ascending in the order in which changes were recorded.")
        Field("at", \.at)
        Field("by", \.by)
            .note(
                "The key's name or ID. For a key limited to accounts, the name with the ID in "
                    + "parentheses. open without keys, configuration for the server's file, "
                    + "pollerd for the system itself."
            )
        Field("key", \.key)
            .note("Left out for keys of the server's file and for changes without a key.")
        Field("role", \.role)
        Field("address", \.address)
            .note("The peer address of the connection: the client or the last proxy.")
        Field("request", \.request).note("The X-Request-Id of the response.")
        Field("action", \.action).note("The operation's name in this API description.")
        Field("target", \.target)
        Field("account", \.account).note("Left out for a change of the whole cluster.")
        Field("before", \.beforeJSON)
            .note("The old values of the changed fields. Fields that did not exist are left out.")
        Field("after", \.afterJSON)
            .note("The new values of the same fields. Fields that no longer exist are left out.")
        Field("refused", \.refused).note("The problem code, if the change was rejected.")
    }
}
