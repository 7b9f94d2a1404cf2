import Logging
import NIOCore
import Synchronization

/// Scripts: as functions where the server takes them, by their digest where it does not.
///
/// Problem: `EVALSHA` runs a whole script each time, so every call makes the functions that all scripts
/// share anew; a library of functions is compiled and run once. But functions may be refused: to a
/// user without the right to them, by a service that has none, and, because loading one is a write, by
/// a server that takes no writes at the time.
///
/// Approach: call the function; where the server does not know it, load its library and call again in
/// one go; where the library is refused too, run the script by its digest, and do so for a while
/// without asking again. Both are refused before anything is executed, so nothing runs twice. Servers
/// forget libraries as they forget scripts: at a restart without persistence, `FUNCTION FLUSH`, and a
/// failover to a replica that did not have it yet.
extension RedisClient {
    /// Runs a script, loading it if the server does not know it.
    ///
    /// A server forgets scripts on restart, failover and `SCRIPT FLUSH`; it then answers `NOSCRIPT`
    /// without having run anything, so loading and repeating is safe. This happens once.
    package func eval(
        _ script: RedisScript,
        keys: [String],
        arguments: [RedisArgument] = []
    ) async throws(RedisError) -> RedisValue {
        if let function = script.function, callsFunctions {
            let replies = try await replies(of: function, function.call(keys, arguments), nil)
            // Safe: each command of a unit has a reply.
            if let replies { return replies[0] }
        }
        let evaluation = script.evaluation(keys, arguments)
        do throws(RedisError) {
            // Safe: each command of a unit has a reply.
            return try await perform(RedisBatch([evaluation]))[0]
        } catch .reply(let error) where error.kind == .unknownScript {
            // Safe: each command of a unit has a reply.
            return try await perform(script.loading(evaluation))[1]
        }
    }

    /// Runs a script like ``eval(_:keys:arguments:)`` and waits until replicas have what it wrote.
    ///
    /// Uses a connection of its own. See ``RedisDurability`` for what that promises. A script that
    /// wrote nothing is not waited for: let it write something.
    package func eval(
        _ script: RedisScript,
        keys: [String],
        arguments: [RedisArgument] = [],
        waitFor durability: RedisDurability
    ) async throws(RedisError) -> RedisDurableReply {
        if let function = script.function, callsFunctions {
            let call = function.call(keys, arguments)
            if let replies = try await replies(of: function, call, durability) {
                // Safe: each command of a unit has a reply.
                return try durableReply(replies[0], of: replies)
            }
        }
        let evaluation = script.evaluation(keys, arguments)
        do throws(RedisError) {
            return try await performDurably(RedisBatch([evaluation]), durability)
        } catch .reply(let error) where error.kind == .unknownScript {
            return try await performDurably(script.loading(evaluation), durability)
        }
    }

    /// Makes a library known to every master; returns why one of them refuses it, if one does.
    ///
    /// Scripts need no such call: it is for learning early, and for telling people.
    package func load(_ library: RedisLibrary) async throws(RedisError) -> RedisReplyError? {
        let replies = try await sendToMasters(library.loading)
        let refusal = replies.lazy.compactMap(\.reply.error).first { !$0.isLibraryAlreadyLoaded }
        if let refusal { recordRefusal(refusal) }
        return refusal
    }

    /// Whether functions are to be called.
    private var callsFunctions: Bool {
        functionUse.withLock { $0.isEnabled }
    }

    /// The reply of a function and, behind it, that to `WAIT`; `nil` if the server takes no functions
    /// and has executed nothing.
    private func replies(
        of function: RedisFunction,
        _ call: RedisCommand,
        _ durability: RedisDurability?
    ) async throws(RedisError) -> [RedisValue]? {
        do throws(RedisError) {
            return try await perform(RedisBatch([call]), durability)
        } catch .reply(let error) where error.kind == .unknownScript {
            // Below.
        } catch .reply(let error) where error.refusesFunctionCalls {
            recordRefusal(error)
            return nil
        }
        let batch = function.loading(call)
        var replies = try await backend.perform(batch, durability).get()
        replies = try await retryRefused(batch, durability, replies)
        // Safe: each command of a unit has a reply.
        switch (replies[0], replies[1]) {
        case (.error(let refusal), .error(let error)) where error.kind == .unknownScript:
            // Somebody is in the way for a moment only: this call goes the other way.
            if !refusal.kind.isTransient, refusal.kind != .readOnly { recordRefusal(refusal) }
            return nil
        case (_, .error(let error)): throw .reply(error)
        default: return Array(replies.dropFirst())
        }
    }

    private func durableReply(
        _ reply: RedisValue,
        of replies: [RedisValue]
    ) throws(RedisError) -> RedisDurableReply {
        switch replies[replies.count - 1] {
        case .error(let error): throw .reply(error)
        case let replicas: return RedisDurableReply(reply: reply, replicas: replicas.int ?? 0)
        }
    }

    private func recordRefusal(_ error: RedisReplyError) {
        guard functionUse.withLock({ $0.refused(now: RedisInstant(.now())) }) else { return }
        logger.warning(
            "Redis refuses functions, so scripts run by their digest and cost it more",
            metadata: [
                "error": "\(error)",
                "hint": "allow FCALL and FUNCTION LOAD and DELETE to this Redis user",
            ]
        )
    }
}

/// Whether functions are called, or scripts run by their digest because functions were refused.
struct RedisFunctionUse {
    /// How long to leave it at that: a right that was given, or memory that was freed, is noticed
    /// soon, and asking costs a refused command.
    private static let retryInterval = Duration.seconds(30)

    private var retryAt: RedisInstant?
    private var hasWarned = false

    /// Whether to try functions now.
    var isEnabled: Bool {
        guard let retryAt else { return true }
        return RedisInstant(.now()) >= retryAt
    }

    /// Notes a refusal; returns whether to tell of it: the first time only.
    mutating func refused(now: RedisInstant) -> Bool {
        defer { hasWarned = true }
        retryAt = now + Self.retryInterval
        return !hasWarned
    }
}

extension RedisReplyError {
    /// Whether the user may not call functions, or the server does not know what that is.
    ///
    /// A function that is stopped at a command its user may not use says something else.
    fileprivate var refusesFunctionCalls: Bool {
        switch code {
        case "NOPERM": message.contains("'fcall'")
        case "ERR": message.lowercased().hasPrefix("unknown command 'fcall'")
        default: false
        }
    }

    /// Whether a library was loaded before.
    fileprivate var isLibraryAlreadyLoaded: Bool {
        message.hasPrefix("Library '") && message.hasSuffix("already exists")
    }
}
