/// The commands sent before the first user command, and the evaluation of their replies.
///
/// `AUTH` → `SELECT` → `CLIENT SETNAME` → `PING` → `ROLE`, written at once, each only if needed.
/// `PING` is always sent. It is the first command that is rejected by a server that requires a
/// password (`NOAUTH`), is still loading (`LOADING`) or has lost its master (`MASTERDOWN`). So no
/// user command meets these errors on a new connection. `ROLE` is sent when a sentinel supplied the
/// address, which may be out of date. `HELLO` is not used: hiredis 0.14 reads RESP2 only.
struct RedisHandshake: Sendable {
    private enum Step {
        case login
        case select
        case name
        case ping
        case role
    }

    private let steps: [(step: Step, command: RedisCommand)]

    init(
        login: RedisLogin?,
        database: Int = 0,
        clientName: String?,
        requiresMaster: Bool = false
    ) {
        var steps: [(step: Step, command: RedisCommand)] = []
        if let login { steps.append((.login, login.command)) }
        if database != 0 {
            steps.append((.select, RedisCommand("SELECT", [RedisArgument(database)])))
        }
        if let clientName {
            steps.append((.name, RedisCommand("CLIENT", ["SETNAME", .string(clientName)])))
        }
        steps.append((.ping, RedisCommand("PING")))
        if requiresMaster { steps.append((.role, RedisCommand("ROLE"))) }
        self.steps = steps
    }

    /// The commands to write.
    var commands: [RedisCommand] { steps.map(\.command) }

    /// The number of replies to expect.
    var count: Int { steps.count }

    /// Returns why the connection cannot be used after the reply to the step at `index`; `nil` if
    /// it can.
    func failure(of reply: RedisValue, at index: Int) -> RedisLinkFailure? {
        let step = steps[index].step
        guard let error = reply.error else {
            let isReplica = step == .role && reply.array?.first?.string != "master"
            return isReplica ? .notMaster : nil
        }
        // The connection name is optional. A user without permission for PING is logged in
        // nevertheless. A server may also hide its role: the user lacks the permission, or ROLE was
        // renamed. Such a server replies READONLY to the first write if it is a replica.
        if step == .name { return nil }
        let isUnknown = error.message.lowercased().hasPrefix("unknown command")
        if error.code == "NOPERM" || isUnknown, step == .ping || step == .role { return nil }
        return RedisLinkFailure("login rejected: \(error)", remedy: Self.remedy(error, step))
    }

    /// Returns the failure for an error reply outside a handshake.
    static func refused(_ error: RedisReplyError, isLogin: Bool) -> RedisLinkFailure {
        RedisLinkFailure("rejected: \(error)", remedy: remedy(error, isLogin ? .login : .ping))
    }

    private static func remedy(_ error: RedisReplyError, _ step: Step) -> String {
        switch (error.code, step) {
        case ("WRONGPASS", _): "correct the user name or the password in the Redis URL"
        case ("NOAUTH", _): "add the login to the Redis URL: redis://user:password@host:port"
        case ("NOPERM", .select):
            "allow the user SELECT (ACL SETUSER name +select), or use database 0"
        case ("NOPERM", _): "grant the permission that the error names: ACL SETUSER"
        case (_, .ping) where error.message.contains("cluster support disabled"):
            "this server is not part of a Cluster: write redis:// instead of redis+cluster://"
        case ("LOADING", _): "wait until Redis has loaded its data"
        case ("MASTERDOWN", _):
            "the replica has lost its master; wait, or point the URL to the master"
        case ("DENIED", _): "Redis is in protected mode: give it a password or bind it to loopback"
        case (_, .login): "the server requires no password: remove the login from the Redis URL"
        case (_, .select): "raise `databases` in redis.conf or choose a lower database in the URL"
        default: "see the Redis log"
        }
    }
}
