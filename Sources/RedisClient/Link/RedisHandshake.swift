/// What is said before the first command, and how the answers are judged.
///
/// `AUTH` → `SELECT` → `CLIENT SETNAME` → `PING` → `ROLE`, written in one go, each only if needed.
/// The `PING` is always there: it is the first command a server refuses that wants a password
/// (`NOAUTH`), is still loading (`LOADING`) or has lost its master (`MASTERDOWN`), so no real command
/// meets these at a fresh connection. `ROLE` is asked where a sentinel sent us: what it knows may be
/// out of date. `HELLO` is not used: hiredis 0.14 reads RESP2 only.
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

    /// What to write.
    var commands: [RedisCommand] { steps.map(\.command) }

    /// How many replies to expect.
    var count: Int { steps.count }

    /// Why the connection cannot be used after the reply to the step at `index`; `nil` if it can.
    func failure(of reply: RedisValue, at index: Int) -> RedisLinkFailure? {
        let step = steps[index].step
        guard let error = reply.error else {
            let isReplica = step == .role && reply.array?.first?.string != "master"
            return isReplica ? .notMaster : nil
        }
        // The name is a convenience. A user without the right to PING is logged in nevertheless; a server that
        // does not tell its role, because the user may not ask or ROLE is renamed, says READONLY to the first write.
        if step == .name { return nil }
        let isUnknown = error.message.lowercased().hasPrefix("unknown command")
        if error.code == "NOPERM" || isUnknown, step == .ping || step == .role { return nil }
        return RedisLinkFailure("login refused: \(error)", remedy: Self.remedy(error, step))
    }

    /// Why a server refuses us, for commands outside a handshake.
    static func refused(_ error: RedisReplyError, isLogin: Bool) -> RedisLinkFailure {
        RedisLinkFailure("refused: \(error)", remedy: remedy(error, isLogin ? .login : .ping))
    }

    private static func remedy(_ error: RedisReplyError, _ step: Step) -> String {
        switch (error.code, step) {
        case ("WRONGPASS", _): "correct the user name or the password in the Redis URL"
        case ("NOAUTH", _): "add the login to the Redis URL: redis://user:password@host:port"
        case ("NOPERM", .select):
            "allow the user SELECT (ACL SETUSER name +select), or use database 0"
        case ("NOPERM", _): "allow the user what the error names, by ACL SETUSER"
        case (_, .ping) where error.message.contains("cluster support disabled"):
            "this is no Cluster: write redis:// instead of redis+cluster://"
        case ("LOADING", _): "wait until Redis has loaded its data; this passes by itself"
        case ("MASTERDOWN", _):
            "the replica has lost its master; wait, or point the URL to the master"
        case ("DENIED", _): "Redis is in protected mode: give it a password or bind it to loopback"
        case (_, .login): "the server knows no passwords: remove the login from the Redis URL"
        case (_, .select): "raise `databases` in redis.conf or choose a lower database in the URL"
        default: "look the error up in the Redis log"
        }
    }
}
