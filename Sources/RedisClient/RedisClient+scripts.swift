import Logging
import NIOCore
import Synchronization

/// Runs scripts: as functions if the server supports them, by digest otherwise.
///
/// Problem: `EVALSHA` runs a whole script each time, so every call creates the shared functions
/// again. A library of functions is compiled and run once. But a server may reject functions: the
/// user may lack the permission, a hosted service may not offer them, and loading a library is a
/// write, which a server may not accept at the time.
///
/// Approach: call the function. If the server does not know it, load its library and call again in
/// one pipeline. If loading is rejected too, run the script by its digest, and keep doing so for a
/// while without trying functions. Both rejections precede any execution, so nothing runs twice. A
/// server forgets libraries as it forgets scripts: on a restart without persistence, on `FUNCTION
/// FLUSH`, and on a failover to a replica that did not have them yet.
extension RedisClient {
    /// Runs a script, loading it if the server does not know it.
    ///
    /// A server forgets scripts on restart, failover and `SCRIPT FLUSH`. It then replies `NOSCRIPT`
    /// without executing anything, so loading and repeating is safe. This is done once.
    package func eval(
        _ script: RedisScript,
        keys: [String],
        arguments: [RedisArgument] = []
    ) async throws(RedisError) -> RedisValue {
        if let function = script.function, callsFunctions {
            let replies = try await replies(of: function, function.call(keys, arguments), nil)
            // Safe: every command of a batch has a reply.
            if let replies { return replies[0] }
        }
        let evaluation = script.evaluation(keys, arguments)
        do throws(RedisError) {
            // Safe: every command of a batch has a reply.
            return try await perform(RedisBatch([evaluation]))[0]
        } catch .reply(let error) where error.kind == .unknownScript {
            // Safe: every command of a batch has a reply.
            return try await perform(script.loading(evaluation))[1]
        }
    }

    /// Runs a script like ``eval(_:keys:arguments:)`` and waits until replicas have its writes.
    ///
    /// Uses a separate connection. See ``RedisDurability`` for the guarantee. The wait covers only
    /// scripts that write something.
    package func eval(
        _ script: RedisScript,
        keys: [String],
        arguments: [RedisArgument] = [],
        waitFor durability: RedisDurability
    ) async throws(RedisError) -> RedisDurableReply {
        if let function = script.function, callsFunctions {
            let call = function.call(keys, arguments)
            if let replies = try await replies(of: function, call, durability) {
                // Safe: every command of a batch has a reply.
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

    /// Loads a library on every master.
    ///
    /// Returns the error of a master that rejects it, if any.
    ///
    /// Scripts do not need this call. It detects a rejection early, so that it can be reported.
    package func load(_ library: RedisLibrary) async throws(RedisError) -> RedisReplyError? {
        let replies = try await sendToMasters(library.loading)
        let refusal = replies.lazy.compactMap(\.reply.error).first { !$0.isLibraryAlreadyLoaded }
        if let refusal { recordRefusal(refusal) }
        return refusal
    }

    private var callsFunctions: Bool {
        functionUse.withLock { $0.isEnabled }
    }

    /// Returns the reply of a function, followed by that of `WAIT`; `nil` if the server does not
    /// accept functions and has executed nothing.
    private func replies(
        of function: RedisFunction,
        _ call: RedisCommand,
        _ durability: RedisDurability?
    ) async throws(RedisError) -> [RedisValue]? {
        do throws(RedisError) {
            return try await perform(RedisBatch([call]), durability)
        } catch .reply(let error) where error.kind == .unknownScript {
            // Loads the library below.
        } catch .reply(let error) where error.refusesFunctionCalls {
            recordRefusal(error)
            return nil
        }
        let batch = function.loading(call)
        var replies = try await backend.perform(batch, durability).get()
        replies = try await retryRefused(batch, durability, replies)
        // Safe: every command of a batch has a reply.
        switch (replies[0], replies[1]) {
        case (.error(let refusal), .error(let error)) where error.kind == .unknownScript:
            // The rejection is temporary, so only this call runs as a script.
            if !refusal.kind.isTransient, refusal.kind != .readOnly { recordRefusal(refusal) }
            return nil
        case (_, .error(let error)): throw .reply(error)
        default: return Array(replies.dropFirst())
        }
    }

    private func recordRefusal(_ error: RedisReplyError) {
        guard functionUse.withLock({ $0.refused(now: RedisInstant(.now())) }) else { return }
        logger.warning(
            "Redis rejected functions; running scripts by digest, which is slower",
            metadata: [
                "error": "\(error)",
                "hint": "allow this Redis user FCALL, FUNCTION LOAD and FUNCTION DELETE",
            ]
        )
    }
}

/// Whether functions are called, or scripts run by digest because functions were rejected.
struct RedisFunctionUse {
    /// How long functions stay disabled after a rejection.
    ///
    /// A new permission or freed memory is noticed soon, and a trial costs one rejected command.
    private static let retryInterval = Duration.seconds(30)

    private var retryAt: RedisInstant?
    private var hasWarned = false

    /// Whether to try functions now.
    var isEnabled: Bool {
        guard let retryAt else { return true }
        return RedisInstant(.now()) >= retryAt
    }

    /// Records a rejection.
    ///
    /// Returns whether to log it: the first time only.
    mutating func refused(now: RedisInstant) -> Bool {
        defer { hasWarned = true }
        retryAt = now + Self.retryInterval
        return !hasWarned
    }
}

extension RedisReplyError {
    /// Whether the user may not call functions, or the server does not support them.
    ///
    /// A function that stops at a command without permission has another error text.
    fileprivate var refusesFunctionCalls: Bool {
        switch code {
        case "NOPERM": message.contains("'fcall'")
        case "ERR": message.lowercased().hasPrefix("unknown command 'fcall'")
        default: false
        }
    }

    /// Whether the library was already loaded.
    fileprivate var isLibraryAlreadyLoaded: Bool {
        message.hasPrefix("Library '") && message.hasSuffix("already exists")
    }
}
