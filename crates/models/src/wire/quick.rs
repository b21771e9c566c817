//! What helps to read the events that a reply has by the thousand: the next words, and nothing else.
//!
//! Each format lists what such an event may hold, and reads it in one pass without a tree of values. An event that holds
//! anything more, or anything in another form, is nobody's here and is read the long way, so that both ways cannot differ.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// `None` where the event is of another shape.
pub(super) fn read<'a, T: Deserialize<'a>>(data: &'a str) -> Option<T> {
    #[cfg(test)]
    if testing::is_off() {
        return None;
    }
    let Object(shape) = serde_json::from_str(data).ok()?;
    #[cfg(test)]
    testing::count();
    Some(shape)
}

/// Takes an object only; a struct alone would also read a list of its fields' values.
pub(super) struct Object<T>(pub(super) T);

impl<'a, T: Deserialize<'a>> Deserialize<'a> for Object<T> {
    fn deserialize<D: Deserializer<'a>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields<T>(PhantomData<T>);

        impl<'a, T: Deserialize<'a>> Visitor<'a> for Fields<T> {
            type Value = T;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'a>>(self, map: A) -> Result<T, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map))
            }
        }

        deserializer
            .deserialize_map(Fields(PhantomData))
            .map(Object)
    }
}

/// A text that is copied only where something in it is escaped. Nothing (`null`) is an empty one.
#[derive(Default)]
pub(super) struct Text<'a>(pub(super) Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Words;

        impl<'a> Visitor<'a> for Words {
            type Value = Cow<'a, str>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text")
            }

            fn visit_borrowed_str<E: Error>(self, text: &'a str) -> Result<Self::Value, E> {
                Ok(Cow::Borrowed(text))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Cow::Owned(text.to_owned()))
            }

            fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
                Ok(Cow::Borrowed(""))
            }
        }

        deserializer.deserialize_any(Words).map(Self)
    }
}

/// Whatever it is, it is read as closely as if it were kept: what is wrong in it is found either way.
pub(super) struct Any;

impl<'de> Deserialize<'de> for Any {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Look;

        impl<'de> Visitor<'de> for Look {
            type Value = Any;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("any value")
            }

            fn visit_unit<E: Error>(self) -> Result<Any, E> {
                Ok(Any)
            }

            fn visit_bool<E: Error>(self, _: bool) -> Result<Any, E> {
                Ok(Any)
            }

            fn visit_u64<E: Error>(self, _: u64) -> Result<Any, E> {
                Ok(Any)
            }

            fn visit_i64<E: Error>(self, _: i64) -> Result<Any, E> {
                Ok(Any)
            }

            fn visit_f64<E: Error>(self, _: f64) -> Result<Any, E> {
                Ok(Any)
            }

            fn visit_str<E: Error>(self, _: &str) -> Result<Any, E> {
                Ok(Any)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Any, A::Error> {
                while let Some(Any) = list.next_element()? {}
                Ok(Any)
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Any, A::Error> {
                while let Some((Any, Any)) = map.next_entry()? {}
                Ok(Any)
            }
        }

        deserializer.deserialize_any(Look)
    }
}

/// So that every test reads its input both ways and compares.
#[cfg(test)]
pub(super) mod testing {
    use std::cell::Cell;
    use std::fmt::Debug;

    thread_local! {
        static OFF: Cell<bool> = const { Cell::new(false) };
        static TAKEN: Cell<usize> = const { Cell::new(0) };
        static COMPARED: Cell<usize> = const { Cell::new(0) };
    }

    pub(super) fn count() {
        TAKEN.set(TAKEN.get() + 1);
    }

    /// How many events of this thread had the common shape.
    pub(in crate::wire) fn taken() -> usize {
        TAKEN.get()
    }

    pub(in crate::wire) fn count_compared() {
        COMPARED.set(COMPARED.get() + 1);
    }

    /// How many events of this thread differed from one before in their words alone.
    pub(in crate::wire) fn compared() -> usize {
        COMPARED.get()
    }

    pub(in crate::wire) fn is_off() -> bool {
        OFF.get()
    }

    pub(in crate::wire) fn both_ways<T: Debug + PartialEq>(read: impl Fn() -> T) -> T {
        let quick = read();
        OFF.set(true);
        let slow = read();
        OFF.set(false);
        assert_eq!(quick, slow, "the quick way and the long way differ");
        quick
    }
}

#[cfg(test)]
#[path = "quick_tests.rs"]
mod tests;
