/// The identity of a watch.
///
/// At most one is open for an (account, source) of a kind.
package struct WatchKey: Hashable, Sendable {
    package let account: AccountID
    package let source: SourceID
    package let kind: SourceKind

    /// Creates the key of a source under an account.
    package init(account: AccountID, source: SourceID, kind: SourceKind) {
        self.account = account
        self.source = source
        self.kind = kind
    }
}
