package import RedisClient

/// The operations of the queue, each one Lua script behind the common prelude.
///
/// They run as the functions of one library, or, where Redis takes none, each by itself; the text is
/// the same (``ScriptTexts``). Both are addressed by digest: two releases with different scripts run
/// beside each other.
package struct Scripts: Sendable {
    /// All of them as functions.
    package let library: RedisLibrary
    private let scripts: [ScriptName: RedisScript]
    /// What takes the place of some calls; tests alone have it.
    private var substitute: (@Sendable (ScriptName) -> RedisScript?)?

    /// Scripts on Redis' own clock.
    package static let live = Scripts(clock: nil)

    /// Scripts with the clock of a test: the key `<namespace>:clock{<partition>}` holds the time in
    /// ms.
    ///
    /// It is in the partition's slot, as every key of a script.
    package static let virtual = Scripts(clock: virtualClock)

    /// The line of the prelude that asks for the time, as tests have it.
    static let virtualClock = """
        local function clock() return tonumber(redis.call('GET', \
        string.match(N, '^[^:]*:') .. 'clock' .. P)) end
        """

    private init(clock: String?) {
        let texts = ScriptTexts(clock: clock)
        let library = RedisLibrary(prefix: RedisFunctions.prefix, body: texts.library)
        self.library = library
        scripts = Dictionary(
            uniqueKeysWithValues: ScriptName.allCases.map { name in
                let function = RedisFunction(name.rawValue, of: library)
                return (name, RedisScript(source: texts.source(of: name), function: function))
            }
        )
    }

    /// Every script, for loading and checking them all.
    package var all: [RedisScript] { ScriptName.allCases.map { self[$0] } }

    /// These scripts, in the place of which others are called where `substitute` gives one.
    ///
    /// It is asked at each call: so the scripts of two releases work on one store in a test.
    func substituting(
        _ substitute: @escaping @Sendable (ScriptName) -> RedisScript?
    ) -> Scripts {
        var scripts = self
        scripts.substitute = substitute
        return scripts
    }

    /// The script of a name.
    subscript(name: ScriptName) -> RedisScript {
        if let other = substitute?(name) { return other }
        guard let script = scripts[name] else { preconditionFailure("made of every name") }
        return script
    }
}

extension Scripts: CustomStringConvertible, CustomDebugStringConvertible {
    /// The name of their library: logs describe whatever holds them.
    package var description: String { library.name }
    /// The same as ``description``.
    package var debugDescription: String { description }
}
