/// A user and its password, for `AUTH`; no description shows the password.
package struct RedisLogin: Sendable, Hashable {
    /// The ACL user; `nil` is Redis' `default` user.
    package let username: String?
    /// The password.
    package let password: String

    /// A login.
    package init(username: String? = nil, password: String) {
        self.username = username
        self.password = password
    }

    /// The command that logs in.
    var command: RedisCommand {
        let user = username.map { [RedisArgument.string($0)] } ?? []
        return RedisCommand("AUTH", user + [.string(password)])
    }
}

extension RedisLogin: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// `user:***`.
    package var description: String { "\(username ?? ""):***" }
    /// The same as ``description``.
    package var debugDescription: String { description }
    /// Shows ``description`` only, so that `dump` cannot reveal the password.
    package var customMirror: Mirror { Mirror(self, children: ["login": description]) }
}
