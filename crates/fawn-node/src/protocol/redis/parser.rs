//! From bytes to requests: the parser of one connection.

use super::answer::Answer;
use super::arguments::word;
use super::client_state::ClientState;
use super::error::{CommandError, NO_AUTH, TOO_LONG};
use super::key_command::{KeyCommand, KeyContext, check_key};
use super::lines::MultiKeyCommand;
use super::reply_state::{ReplyHead, ReplyKind};
use super::spec::{CommandSpec, Handler};
use super::table::TABLE;
use super::writer::{REDIS, Redis};
use crate::protocol::{ParserEvent, ParserOptions, ParserStep, Protocol, RequestParser};
use crate::request::{KeyRequest, ReplyForm};
use fawn_resp::reply;
use fawn_resp::{Ahead, CommandEvent, CommandReader, CommandStep, Excess, ReaderLimits, Words};
use fawn_store::timekeeper::Time;

/// Words of a command, at most: places of so many take 2 MiB.
const MOST_WORDS: usize = 128 << 10;
/// Bytes that a command may have beside the largest value.
const SPARE_BYTES: usize = 128 << 10;
/// Room for arguments that a parser keeps from one command to the next.
const KEPT_BYTES: usize = 1024;

/// The parser of one connection.
#[derive(Debug)]
struct Parser {
    reader: CommandReader,
    client: ClientState,
    /// The last command, if its name alone names it: it often comes again.
    last: Option<&'static CommandSpec>,
    /// The command that is being given out key by key.
    line: Option<MultiKeyCommand>,
    /// The argument of the operation at hand.
    argument: Vec<u8>,
    /// Nothing more is read.
    is_closed: bool,
}

impl Parser {
    fn new(options: &ParserOptions) -> Self {
        let limits = ReaderLimits { words: MOST_WORDS, command_bytes: options.max_item_bytes + SPARE_BYTES };
        Self {
            reader: CommandReader::new(limits, options.authenticates),
            client: ClientState::new(options),
            last: None,
            line: None,
            argument: Vec::new(),
            is_closed: false,
        }
    }

    /// The next key of the line that is being given out; `input` begins with its command.
    fn next_key<'a>(&'a mut self, input: &'a [u8], mut line: MultiKeyCommand) -> ParserStep<'a> {
        let words = self.reader.last_command(input);
        let request = line.next(&words);
        let is_over = line.is_over();
        self.line = (!is_over).then_some(line);
        ParserStep { consumed: if is_over { words.input_bytes() } else { 0 }, event: ParserEvent::Key(request) }
    }
}

/// The form of a reply to the client.
#[inline]
fn form(kind: ReplyKind, client: &ClientState) -> ReplyForm {
    let head = ReplyHead::new(kind, client.version, client.is_muted());
    ReplyForm::new(&REDIS, head.encode(), true)
}

/// The command of these words, which is often that of the `last` ones, if the client may use it so.
#[inline]
fn spec_of(
    words: &Words<'_>,
    client: &mut ClientState,
    last: &mut Option<&'static CommandSpec>,
) -> Result<&'static CommandSpec, CommandError> {
    let spec = match last {
        Some(last) if words.name().eq_ignore_ascii_case(last.name.as_bytes()) => *last,
        _ => TABLE.of_words(words)?,
    };
    *last = Some(spec).filter(|spec| spec.is_plain());
    client.command = spec.name;
    if !spec.takes(words.len()) {
        return Err(CommandError::arity(spec.name));
    }
    if client.is_locked && !spec.is("no_auth") {
        return Err(NO_AUTH);
    }
    Ok(spec)
}

impl Protocol for Redis {
    fn name(&self) -> &'static str {
        "redis"
    }

    fn parser(&self, options: ParserOptions) -> Box<dyn RequestParser> {
        Box::new(Parser::new(&options))
    }

    fn too_many_connections(&self) -> &'static [u8] {
        b"-ERR max number of clients reached\r\n"
    }
}

impl RequestParser for Parser {
    #[inline]
    fn next<'a>(&'a mut self, input: &'a [u8], time: &Time, out: &mut Vec<u8>) -> ParserStep<'a> {
        if self.is_closed {
            return ParserStep { consumed: input.len(), event: ParserEvent::Close };
        }
        if let Some(line) = self.line {
            return self.next_key(input, line);
        }
        let Self { reader, client, last, line, argument, is_closed } = self;
        if !argument.is_empty() {
            argument.clear();
            argument.shrink_to(KEPT_BYTES);
        }
        reader.set_locked(client.is_locked);
        let CommandStep { consumed, event } = reader.next(input);
        let start = out.len();
        let words = match event {
            CommandEvent::Command(words) => words,
            CommandEvent::NeedMore { total } => {
                return ParserStep { consumed, event: ParserEvent::NeedMore { total } };
            }
            CommandEvent::Excess(why) => {
                client.begin(time.now);
                if !client.is_muted() {
                    excess(why).write(out);
                }
                return ParserStep { consumed, event: ParserEvent::Replied };
            }
            CommandEvent::Broken(error) => {
                *is_closed = true;
                reply::error(out, format!("ERR Protocol error: {error}").as_bytes());
                return ParserStep { consumed: input.len(), event: ParserEvent::Replied };
            }
        };
        client.begin(time.now);
        let made = spec_of(&words, client, last).and_then(|spec| match &spec.handler {
            Handler::Key(make) => {
                let name = word(&words, spec.keys.first);
                check_key(name)?;
                let max_item_bytes = client.max_item_bytes;
                let mut context = KeyContext { name: spec.name, time, argument: &mut *argument, max_item_bytes };
                let KeyCommand { action, reply, needs_clock, has_made_argument } = make(&words, &mut context)?;
                let action = if has_made_argument { action.join(argument) } else { action };
                let request = KeyRequest { needs_clock, ..KeyRequest::new(name, action, form(reply, client)) };
                Ok(ParserStep { consumed, event: ParserEvent::Key(request) })
            }
            Handler::Line(kind) => {
                let to = (client.version, client.is_muted());
                let mut keys = MultiKeyCommand::begin(*kind, spec, &words, to, client.max_item_bytes)?;
                let event = ParserEvent::Key(keys.next(&words));
                if keys.is_over() {
                    return Ok(ParserStep { consumed, event });
                }
                *line = Some(keys);
                Ok(ParserStep { consumed: consumed - words.input_bytes(), event })
            }
            Handler::Own(answer) => {
                let event = match answer(&words, client, out)? {
                    Answer::Written => ParserEvent::Replied,
                    Answer::Close => {
                        *is_closed = true;
                        ParserEvent::Replied
                    }
                    Answer::Server(request, kind) => ParserEvent::Server(request, form(kind, client)),
                    Answer::Authenticate { user, password, reply, version } => {
                        let head = ReplyHead::new(reply, version, client.is_muted());
                        let reply = ReplyForm::new(&REDIS, head.encode(), true);
                        ParserEvent::Authenticate { user, password, reply }
                    }
                };
                Ok(ParserStep { consumed, event })
            }
            Handler::Table(answer) => {
                answer(&words, &TABLE, (spec, client.version), out)?;
                Ok(ParserStep { consumed, event: ParserEvent::Replied })
            }
            Handler::Refused(text) => Err(CommandError::text(text)),
            Handler::Container => Err(CommandError::arity(spec.name)),
        });
        let step = made.unwrap_or_else(|error| {
            error.write(out);
            ParserStep { consumed, event: ParserEvent::Replied }
        });
        if self.client.is_muted() {
            out.truncate(start);
        }
        step
    }

    fn upcoming<'a>(&self, input: &'a [u8], visit: &mut dyn FnMut(&'a [u8]) -> bool) {
        let mut ahead = Ahead::new(input);
        let mut first = self.line.map_or(1, |line| line.place());
        while let Some(count) = ahead.command() {
            let Some(name) = ahead.word() else { return };
            let step = key_step(name);
            for place in 1..count {
                let Some(word) = ahead.word() else { return };
                let is_key = place == 1 || (step > 0 && (place - 1) % step == 0);
                if is_key && place >= first && !visit(word) {
                    return;
                }
            }
            first = 1;
        }
    }

    fn is_locked(&self) -> bool {
        self.client.is_locked
    }

    fn authenticated(&mut self) {
        self.client.authenticated();
    }
}

/// From one key to the next of a command of several keys; 0 for others, which mostly have their key in front.
fn key_step(name: &[u8]) -> usize {
    let is = |wanted: &str| name.eq_ignore_ascii_case(wanted.as_bytes());
    match name.len() {
        3 => usize::from(is("DEL")),
        4 if is("MSET") => 2,
        4 => usize::from(is("MGET")),
        5 => usize::from(is("TOUCH")),
        6 => usize::from(is("EXISTS") || is("UNLINK")),
        _ => 0,
    }
}

#[cold]
fn excess(why: Excess) -> CommandError {
    match why {
        Excess::Bytes => TOO_LONG,
        Excess::Words => CommandError::text("ERR a command has at most 131072 words: send several commands"),
    }
}
